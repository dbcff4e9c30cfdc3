PRAGMA user_version = 2;
PRAGMA application_id = 1836019572;
CREATE TABLE event (
    position  INTEGER PRIMARY KEY,
    type      TEXT    NOT NULL,
    v         INTEGER NOT NULL,
    stream    TEXT    NOT NULL,
    prev      INTEGER NOT NULL,
    at        TEXT    NOT NULL,
    "by"      TEXT    NOT NULL,
    data      TEXT    NOT NULL,
    cause     TEXT,
    thread    TEXT,
    pack      TEXT,
    commit_id TEXT    NOT NULL,
    n         INTEGER NOT NULL
) STRICT;
CREATE TABLE commits (
    id    TEXT    PRIMARY KEY,
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE request (
    scope  TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    digest TEXT    NOT NULL,
    first  INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO event VALUES (1, 'agent:joined', 1, 'agent/ada', 0, '2026-11-17T18:07:16.254Z', 'Ada#1', '{"name":"Ada","incarnation":1,"roles":["reviewer","team-lead"],"worktree":"."}', NULL, NULL, NULL, '01m7nb258zkt7f78mp8kd45py3', 0);
INSERT INTO event VALUES (2, 'agent:joined', 1, 'agent/bob', 0, '2026-11-17T18:07:16.518Z', 'Bob#1', '{"name":"Bob","incarnation":1,"roles":["developer"],"worktree":"."}', NULL, NULL, NULL, '01m7nb25h78nj87vg2eccw4tt2', 0);
INSERT INTO event VALUES (3, 'agent:joined', 1, 'agent/cyd', 0, '2026-11-17T18:07:16.781Z', 'Cyd#1', '{"name":"Cyd","incarnation":1,"worktree":"."}', NULL, NULL, NULL, '01m7nb25se05eztaw65vmnzdnt', 0);
INSERT INTO event VALUES (4, 'agent:left', 1, 'agent/cyd', 3, '2026-11-17T18:07:17.163Z', 'Cyd#1', '{"incarnation":1}', NULL, NULL, NULL, '01m7nb265by4y7b57q9exqxr9k', 0);
INSERT INTO event VALUES (5, 'agent:joined', 1, 'agent/cyd', 4, '2026-11-17T18:07:17.519Z', 'Cyd#2', '{"name":"Cyd","incarnation":2,"worktree":"."}', NULL, NULL, NULL, '01m7nb26gfpfg34p4z4whypfh3', 0);
INSERT INTO event VALUES (6, 'agent:left', 1, 'agent/cyd', 5, '2026-11-17T18:07:18.042Z', 'person:anna', '{"incarnation":2,"retired":true}', NULL, NULL, NULL, '01m7nb270vtx98jd6h5pfgq6yt', 0);
INSERT INTO event VALUES (7, 'task:added', 1, 'task/task-001', 0, '2026-11-17T18:07:18.264Z', 'Ada#1', '{"title":"Write it","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","priority":"high","ttl":1800.0}', NULL, NULL, NULL, '01m7nb277rphsfgzj1wzxgzxje', 0);
INSERT INTO event VALUES (8, 'task:added', 1, 'task/task-002', 0, '2026-11-17T18:07:18.505Z', 'Ada#1', '{"title":"Test it","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0,"needs":["task-001"],"waits":["task-001"]}', NULL, NULL, NULL, '01m7nb27fa5ks81rat9ay2rqra', 0);
INSERT INTO event VALUES (9, 'graph:linked', 1, 'graph', 0, '2026-11-17T18:07:18.505Z', 'Ada#1', '{"task":"task-002","needs":["task-001"]}', NULL, NULL, NULL, '01m7nb27fa5ks81rat9ay2rqra', 1);
INSERT INTO event VALUES (10, 'task:added', 1, 'task/task-003', 0, '2026-11-17T18:07:18.685Z', 'Ada#1', '{"title":"Hold it","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0}', NULL, NULL, NULL, '01m7nb27myphc0mwz4rb7dgmr7', 0);
INSERT INTO event VALUES (11, 'task:added', 1, 'task/X y;$(z)', 0, '2026-11-17T18:07:18.911Z', 'Ada#1', '{"title":"odd id","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0}', NULL, NULL, NULL, '01m7nb27vzr0wa5qxhvwa2y119', 0);
INSERT INTO event VALUES (12, 'task:added', 1, 'task/task-004', 0, '2026-11-17T18:07:19.088Z', 'Ada#1', '{"title":"No review","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","review":false,"ttl":1800.0}', NULL, NULL, NULL, '01m7nb281gas8w3aj33kfsqj8g', 0);
INSERT INTO event VALUES (13, 'task:started', 1, 'task/task-001', 7, '2026-11-17T18:07:19.312Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb288gkg4km60683tc5rz4', 0);
INSERT INTO event VALUES (14, 'task:submitted', 1, 'task/task-001', 13, '2026-11-17T18:07:19.490Z', 'Bob#1', '{"verb":"submit","source":"working","target":"review","phase":"review","attempt":1,"author":"Bob#1"}', NULL, NULL, NULL, '01m7nb28e2my7myj887tzbxvae', 0);
INSERT INTO event VALUES (15, 'task:rejected', 1, 'task/task-001', 14, '2026-11-17T18:07:19.680Z', 'Ada#1', '{"verb":"reject","source":"review","target":"open","phase":"open","attempt":2,"role":"reviewer","reason":"no"}', NULL, NULL, NULL, '01m7nb28m055g9p9zbamxxbb9m', 0);
INSERT INTO event VALUES (16, 'task:started', 1, 'task/task-001', 15, '2026-11-17T18:07:19.858Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":2,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb28skqjy62jn1a5f5ck3x', 0);
INSERT INTO event VALUES (17, 'task:released', 1, 'task/task-001', 16, '2026-11-17T18:07:20.044Z', 'Bob#1', '{"verb":"release","source":"working","target":"open","phase":"open","attempt":2}', NULL, NULL, NULL, '01m7nb28zcegjwf40k80r5t875', 0);
INSERT INTO event VALUES (18, 'task:started', 1, 'task/task-003', 10, '2026-11-17T18:07:20.226Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb29522vhrq76q0katc4dy', 0);
INSERT INTO event VALUES (19, 'task:failed', 1, 'task/task-003', 18, '2026-11-17T18:07:20.398Z', 'Bob#1', '{"verb":"fail","source":"working","target":"failed","phase":"stopped","attempt":1,"reason":"bad"}', NULL, NULL, NULL, '01m7nb29aeda64f4csp8ctb1z9', 0);
INSERT INTO event VALUES (20, 'task:reopened', 1, 'task/task-003', 19, '2026-11-17T18:07:20.565Z', 'Ada#1', '{"verb":"reopen","source":"failed","target":"open","phase":"open","attempt":2,"reason":"again"}', NULL, NULL, NULL, '01m7nb29fpegq8xawsh8stsx5c', 0);
INSERT INTO event VALUES (21, 'task:started', 1, 'task/task-004', 12, '2026-11-17T18:07:20.737Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb29n15c5atb6bchpq8wyz', 0);
INSERT INTO event VALUES (22, 'task:completed', 1, 'task/task-004', 21, '2026-11-17T18:07:20.904Z', 'Bob#1', '{"verb":"complete","source":"working","target":"done","phase":"done","attempt":1}', NULL, NULL, NULL, '01m7nb29t8rh883typtztk25ef', 0);
INSERT INTO event VALUES (23, 'task:cancelled', 1, 'task/task-002', 8, '2026-11-17T18:07:21.061Z', 'Ada#1', '{"verb":"cancel","source":"open","target":"cancelled","phase":"stopped","attempt":1,"role":"creator","reason":"not needed"}', NULL, NULL, NULL, '01m7nb29z6yxe0fdksqt7tybgv', 0);
INSERT INTO event VALUES (24, 'graph:linked', 1, 'graph', 9, '2026-11-17T18:07:21.222Z', 'Ada#1', '{"task":"task-003","needs":["task-001"]}', NULL, NULL, NULL, '01m7nb2a47tvnf6n807h172sev', 0);
INSERT INTO event VALUES (25, 'task:blocked', 1, 'task/task-003', 20, '2026-11-17T18:07:21.222Z', 'Ada#1', '{"on":["task-001"]}', NULL, NULL, NULL, '01m7nb2a47tvnf6n807h172sev', 1);
INSERT INTO event VALUES (26, 'graph:unlinked', 1, 'graph', 24, '2026-11-17T18:07:21.376Z', 'Ada#1', '{"task":"task-003","needs":["task-001"]}', NULL, NULL, NULL, '01m7nb2a90h342gbfkpqpd8kvq', 0);
INSERT INTO event VALUES (27, 'task:readied', 1, 'task/task-003', 25, '2026-11-17T18:07:21.376Z', 'Ada#1', '{"done":"task-001"}', NULL, NULL, NULL, '01m7nb2a90h342gbfkpqpd8kvq', 1);
INSERT INTO event VALUES (28, 'message:sent', 1, 'message/m-q6jmw6t', 0, '2026-11-17T18:07:21.535Z', 'Ada#1', '{"kind":"request","sender":"Ada#1","to":["Bob"],"wants":"answer","text":"Please look","within":100.0}', NULL, 'm-q6jmw6t', NULL, '01m7nb2adz589w9w8f3mtfa9j9', 0);
INSERT INTO event VALUES (29, 'message:offered', 1, 'mailbox/bob', 0, '2026-11-17T18:07:21.690Z', 'Bob#1', '{"ids":["m-q6jmw6t"],"to":"Bob#1"}', NULL, NULL, NULL, '01m7nb2ajttn0vt2m1ztyk675r', 0);
INSERT INTO event VALUES (30, 'message:sent', 1, 'message/m-n30yfwd', 0, '2026-11-17T18:07:21.997Z', 'Bob#1', '{"kind":"reply","sender":"Bob#1","to":["Ada"],"wants":"nothing","text":"done","reply_to":"m-q6jmw6t"}', NULL, 'm-q6jmw6t', NULL, '01m7nb2awdckbv11s166np3d4t', 0);
INSERT INTO event VALUES (31, 'message:answered', 1, 'mailbox/bob', 29, '2026-11-17T18:07:21.997Z', 'Bob#1', '{"id":"m-q6jmw6t","reply":"m-n30yfwd","who":"Bob#1"}', NULL, NULL, NULL, '01m7nb2awdckbv11s166np3d4t', 1);
INSERT INTO event VALUES (32, 'message:sent', 1, 'message/m-d1jka17', 0, '2026-11-17T18:07:22.153Z', 'Bob#1', '{"kind":"note","sender":"Bob#1","to":["Ada"],"wants":"nothing","text":"hello"}', NULL, 'm-d1jka17', NULL, '01m7nb2b19gmmxg4cdrgvyeqy2', 0);
INSERT INTO event VALUES (33, 'message:offered', 1, 'mailbox/ada', 0, '2026-11-17T18:07:22.394Z', 'Ada#1', '{"ids":["m-n30yfwd","m-d1jka17"],"to":"Ada#1"}', NULL, NULL, NULL, '01m7nb2b8tema8v4078ghk9s7p', 0);
INSERT INTO event VALUES (34, 'message:sent', 1, 'message/m-6e7dnqg', 0, '2026-11-17T18:07:22.597Z', 'Ada#1', '{"kind":"note","sender":"Ada#1","to":["Bob"],"wants":"nothing","text":"to all"}', NULL, 'm-6e7dnqg', NULL, '01m7nb2bf6wn0pwpnkjjw2x5pa', 0);
INSERT INTO event VALUES (35, 'message:sent', 1, 'message/m-6nyy48n', 0, '2026-11-17T18:07:22.784Z', 'person:anna', '{"kind":"note","sender":"person:anna","to":["Ada"],"wants":"nothing","text":"from a person"}', NULL, 'm-6nyy48n', NULL, '01m7nb2bn3z36yd5e1bstrz2w0', 0);
INSERT INTO event VALUES (36, 'file:claimed', 1, 'claims', 0, '2026-11-17T18:07:23.199Z', 'Bob#1', '{"id":"c-rccadpa","holder":"Bob#1","paths":["src/b.py","lib/**"],"mode":"exclusive","ttl":1800.0,"reason":"grammar"}', NULL, NULL, NULL, '01m7nb2c1ze3xa6yqkq71fwce0', 0);
INSERT INTO event VALUES (37, 'file:claimed', 1, 'claims', 36, '2026-11-17T18:07:23.405Z', 'Ada#1', '{"id":"c-w3655sc","holder":"Ada#1","paths":["docs/**"],"mode":"shared","ttl":1800.0}', NULL, NULL, NULL, '01m7nb2c8dhr115fact3859rew', 0);
INSERT INTO event VALUES (38, 'file:released', 1, 'claims', 37, '2026-11-17T18:07:23.586Z', 'Bob#1', '{"id":"c-rccadpa","holder":"Bob#1","paths":["src/b.py"],"left":["lib/**"]}', NULL, NULL, NULL, '01m7nb2ce2wrt5bdr99mb7evba', 0);
INSERT INTO event VALUES (39, 'file:claimed', 1, 'claims', 38, '2026-11-17T18:07:23.799Z', 'Bob#1', '{"id":"c-3t4v6te","holder":"Bob#1","paths":["x[0-9].txt","x[[]0-9].txt"],"mode":"exclusive","ttl":60.0}', NULL, NULL, NULL, '01m7nb2cmryv05f8zstmhxz325', 0);
INSERT INTO event VALUES (40, 'file:released', 1, 'claims', 39, '2026-11-17T18:07:24.027Z', 'person:anna', '{"id":"c-rccadpa","holder":"Bob#1","paths":["lib/**"],"forced":true,"reason":"r"}', NULL, NULL, NULL, '01m7nb2cvv7ytxvdqpj82pf1fp', 0);
INSERT INTO event VALUES (41, 'artifact:created', 1, 'artifact/a.py', 0, '2026-11-17T18:07:24.277Z', 'Bob#1', '{"creator":"Bob#1","paths":["a.py"],"provides":["B"],"summary":"The parser."}', NULL, NULL, NULL, '01m7nb2d3p5xre03pyrny7gzak', 0);
INSERT INTO event VALUES (42, 'dependency:provided', 1, 'dependency/a.py', 0, '2026-11-17T18:07:24.277Z', 'Bob#1', '{"artifact":"a.py"}', NULL, NULL, NULL, '01m7nb2d3p5xre03pyrny7gzak', 1);
INSERT INTO event VALUES (43, 'dependency:provided', 1, 'dependency/B', 0, '2026-11-17T18:07:24.277Z', 'Bob#1', '{"artifact":"a.py"}', NULL, NULL, NULL, '01m7nb2d3p5xre03pyrny7gzak', 2);
INSERT INTO event VALUES (44, 'dependency:declared', 1, 'dependency/A', 0, '2026-11-17T18:07:24.486Z', 'Bob#1', '{"needer":"Bob","who":"Bob"}', NULL, NULL, NULL, '01m7nb2da85tdca9x11q8011yh', 0);
INSERT INTO event VALUES (45, 'artifact:created', 1, 'artifact/A', 0, '2026-11-17T18:07:24.760Z', 'Ada#1', '{"creator":"Ada#1","uri":"http://x/","kind":"service"}', NULL, NULL, NULL, '01m7nb2djtfd5dvj8d6gaejzt8', 0);
INSERT INTO event VALUES (46, 'dependency:provided', 1, 'dependency/A', 44, '2026-11-17T18:07:24.760Z', 'Ada#1', '{"artifact":"A"}', NULL, NULL, NULL, '01m7nb2djtfd5dvj8d6gaejzt8', 1);
INSERT INTO event VALUES (47, 'dependency:satisfied', 1, 'dependency/A', 46, '2026-11-17T18:07:24.760Z', 'Ada#1', '{"artifact":"A","required_by":["Bob"]}', NULL, NULL, NULL, '01m7nb2djtfd5dvj8d6gaejzt8', 2);
INSERT INTO event VALUES (48, 'message:sent', 1, 'message/m-mvbytww', 0, '2026-11-17T18:07:24.760Z', 'Ada#1', '{"kind":"dependency","sender":"moot","to":["Bob"],"wants":"nothing","text":"A is there."}', NULL, 'dependency/A', NULL, '01m7nb2djtfd5dvj8d6gaejzt8', 3);
INSERT INTO event VALUES (49, 'dependency:provided', 1, 'dependency/http://x/', 0, '2026-11-17T18:07:24.760Z', 'Ada#1', '{"artifact":"A"}', NULL, NULL, NULL, '01m7nb2djtfd5dvj8d6gaejzt8', 4);
INSERT INTO event VALUES (50, 'artifact:modified', 1, 'artifact/a.py', 41, '2026-11-17T18:07:25.072Z', 'Bob#1', '{"modifier":"Bob#1","changes":["more"]}', NULL, NULL, NULL, '01m7nb2dwhqwfx62nd787rbbvm', 0);
INSERT INTO event VALUES (51, 'dependency:declared', 1, 'dependency/Never', 0, '2026-11-17T18:07:25.371Z', 'Bob#1', '{"needer":"Bob","who":"Bob"}', NULL, NULL, NULL, '01m7nb2e5wqhgae517s243v1wz', 0);
INSERT INTO event VALUES (52, 'dependency:dropped', 1, 'dependency/Never', 51, '2026-11-17T18:07:25.695Z', 'Bob#1', '{"needer":"Bob"}', NULL, NULL, NULL, '01m7nb2eg0etk6q6yv32n86g59', 0);
INSERT INTO event VALUES (53, 'decision:made', 1, 'decision/d-pb2f41v', 0, '2026-11-17T18:07:26.030Z', 'Ada#1', '{"maker":"Ada#1","title":"Use spaces","affects":["task-*"],"paths":["src/**"]}', NULL, NULL, NULL, '01m7nb2etghef0wadd6te76qhc', 0);
INSERT INTO event VALUES (54, 'decision:made', 1, 'decision/tabs', 0, '2026-11-17T18:07:26.271Z', 'Ada#1', '{"maker":"Ada#1","title":"Use four"}', NULL, NULL, NULL, '01m7nb2f215vp9dnywa1wdsb6f', 0);
INSERT INTO event VALUES (55, 'decision:superseded', 1, 'decision/tabs', 54, '2026-11-17T18:07:26.797Z', 'Ada#1', '{"by":"d-pb2f41v","who":"Ada#1"}', NULL, NULL, NULL, '01m7nb2fjfctdgxm7tbtvt0bd9', 0);
INSERT INTO event VALUES (56, 'checkpoint:reached', 1, 'checkpoint/k-hygn88q', 0, '2026-11-17T18:07:26.965Z', 'Bob#1', '{"who":"Bob#1","kind":"human-verify","question":"Which colour?","options":["blue","red"],"task":"task-003"}', NULL, NULL, NULL, '01m7nb2fqs15rzwbx7rpjdgndb', 0);
INSERT INTO event VALUES (57, 'checkpoint:resolved', 1, 'checkpoint/k-hygn88q', 56, '2026-11-17T18:07:27.308Z', 'person:anna', '{"who":"person:anna","answer":"blue"}', NULL, NULL, NULL, '01m7nb2g2en16qf7mtg6ke6dy1', 0);
INSERT INTO event VALUES (58, 'message:sent', 1, 'message/m-xxz421e', 0, '2026-11-17T18:07:27.308Z', 'person:anna', '{"kind":"checkpoint","sender":"person:anna","to":["Bob"],"wants":"nothing","text":"blue\n\nThat answers k-hygn88q: Which colour?","task":"task-003"}', NULL, 'k-hygn88q', NULL, '01m7nb2g2en16qf7mtg6ke6dy1', 1);
INSERT INTO event VALUES (59, 'checkpoint:reached', 1, 'checkpoint/k-738n2w1', 0, '2026-11-17T18:07:27.529Z', 'Bob#1', '{"who":"Bob#1","kind":"human-verify","question":"Withdrawn?"}', NULL, NULL, NULL, '01m7nb2g9akhgvfm7869xbavd5', 0);
INSERT INTO event VALUES (60, 'checkpoint:withdrawn', 1, 'checkpoint/k-738n2w1', 59, '2026-11-17T18:07:27.927Z', 'Bob#1', '{"who":"Bob#1","reason":"no"}', NULL, NULL, NULL, '01m7nb2gnr8bye6bdn64ytsk3x', 0);
INSERT INTO event VALUES (61, 'receipt:recorded', 1, 'receipt/r-ah4wkqn', 0, '2026-11-17T18:07:28.192Z', 'Bob#1', '{"by":"Bob#1","argv":["true"],"code":0,"seconds":0.001,"digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0,"tree":"git:d9fe7fbf099130a6bed4a2dc191f4259db6b2ac5","commit":"156cd2d14f444abb3898b46e353af8c33281c7e1","dirty":true,"worktree":"/home/anna/work","directory":"/home/anna/work"}', NULL, NULL, NULL, '01m7nb2gy00hs31g22zzc058as', 0);
INSERT INTO event VALUES (62, 'task:started', 1, 'task/task-001', 17, '2026-11-17T18:07:28.373Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":2,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb2h3r34fpy0mjvqq2vvnr', 0);
INSERT INTO event VALUES (63, 'message:sent', 1, 'message/m-0cxvbv2', 0, '2026-11-17T18:07:28.373Z', 'Bob#1', '{"kind":"decision","sender":"Ada#1","to":["Bob"],"wants":"nothing","text":"Use spaces\n\nd-pb2f41v, concerns task-*, src/**"}', NULL, 'd-pb2f41v', NULL, '01m7nb2h3r34fpy0mjvqq2vvnr', 1);
INSERT INTO event VALUES (64, 'receipt:recorded', 1, 'receipt/r-49eyeps', 0, '2026-11-17T18:07:28.849Z', 'Bob#1', '{"by":"Bob#1","argv":["true"],"code":0,"seconds":0.002,"digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0,"tree":"git:d9fe7fbf099130a6bed4a2dc191f4259db6b2ac5","commit":"156cd2d14f444abb3898b46e353af8c33281c7e1","dirty":true,"worktree":"/home/anna/work","directory":"/home/anna/work","task":"task-001"}', NULL, NULL, NULL, '01m7nb2hjh1spqeas3rfqy8cm7', 0);
INSERT INTO event VALUES (65, 'task:submitted', 1, 'task/task-001', 62, '2026-11-17T18:07:29.100Z', 'Bob#1', '{"verb":"submit","source":"working","target":"review","phase":"review","attempt":2,"author":"Bob#1"}', NULL, NULL, NULL, '01m7nb2htdr29zd5fft9z9s5hp', 0);
INSERT INTO event VALUES (66, 'task:approved', 1, 'task/task-001', 65, '2026-11-17T18:07:29.264Z', 'Ada#1', '{"verb":"approve","source":"review","target":"done","phase":"done","attempt":2,"role":"reviewer"}', NULL, NULL, NULL, '01m7nb2hzj79fcwmgsc37d9ew4', 0);
INSERT INTO event VALUES (67, 'task:readied', 1, 'task/task-002', 23, '2026-11-17T18:07:29.264Z', 'Ada#1', '{"done":"task-001"}', NULL, NULL, NULL, '01m7nb2hzj79fcwmgsc37d9ew4', 1);
INSERT INTO event VALUES (68, 'message:offered', 1, 'mailbox/bob', 31, '2026-11-17T18:07:29.557Z', 'Bob#1', '{"ids":["m-6e7dnqg","m-mvbytww","m-xxz421e","m-0cxvbv2"],"to":"Bob#1"}', NULL, NULL, NULL, '01m7nb2j8np7q3qy7ps88kvhzh', 0);
INSERT INTO event VALUES (69, 'message:acked', 1, 'mailbox/bob', 68, '2026-11-17T18:07:29.748Z', 'Bob#1', '{"ids":["m-0cxvbv2"],"who":"Bob#1","read_at":"2026-11-17T18:07:29.748Z"}', NULL, NULL, NULL, '01m7nb2jep06dp39r0hmhmg37j', 0);
INSERT INTO event VALUES (70, 'message:sent', 1, 'message/m-xn0re2q', 0, '2026-11-17T18:07:29.952Z', 'Ada#1', '{"kind":"request","sender":"Ada#1","to":["Bob"],"wants":"answer","text":"soon gone","expires":0.01}', NULL, 'm-xn0re2q', NULL, '01m7nb2jn0qftwceh8bekydesy', 0);
INSERT INTO event VALUES (71, 'message:expired', 1, 'mailbox/bob', 69, '2026-11-17T18:07:30.120Z', 'Bob#1', '{"ids":["m-xn0re2q"]}', NULL, NULL, NULL, '01m7nb2jt8efej5fbnqr76v7fe', 0);
INSERT INTO event VALUES (72, 'agent:joined', 1, 'agent/dot', 0, '2026-11-17T18:07:30.293Z', 'Dot#1', '{"name":"Dot","incarnation":1,"worktree":"."}', NULL, NULL, NULL, '01m7nb2jznjdjb1dq8r8knm2m4', 0);
INSERT INTO event VALUES (73, 'message:sent', 1, 'message/m-8snpwwh', 0, '2026-11-17T18:07:30.505Z', 'person:anna', '{"kind":"request","sender":"person:anna","to":["Dot"],"wants":"answer","text":"never read"}', NULL, 'm-8snpwwh', NULL, '01m7nb2k69tanzmd4gvdbkm8yx', 0);
INSERT INTO event VALUES (74, 'agent:left', 1, 'agent/dot', 72, '2026-11-17T18:07:30.666Z', 'person:anna', '{"incarnation":1,"retired":true}', NULL, NULL, NULL, '01m7nb2kba34pcg2dfzh6b8fev', 0);
INSERT INTO event VALUES (75, 'message:dead', 1, 'mailbox/dot', 0, '2026-11-17T18:07:30.666Z', 'person:anna', '{"ids":["m-8snpwwh"],"reason":"Dot retired"}', NULL, NULL, NULL, '01m7nb2kba34pcg2dfzh6b8fev', 1);
INSERT INTO event VALUES (76, 'task:added', 1, 'task/lapse-1', 0, '2026-11-17T18:07:30.855Z', 'Ada#1', '{"title":"To lapse","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0}', NULL, NULL, NULL, '01m7nb2kh7kms2vwjtbpw30ky8', 0);
INSERT INTO event VALUES (77, 'task:started', 1, 'task/lapse-1', 76, '2026-11-17T18:07:31.058Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb2kqpgg5eavepphmq7z7b', 0);
INSERT INTO event VALUES (78, 'file:claimed', 1, 'claims', 40, '2026-11-17T18:07:31.233Z', 'Bob#1', '{"id":"c-j5wrbez","holder":"Bob#1","paths":["lapsing.py"],"mode":"exclusive","ttl":1800.0}', NULL, NULL, NULL, '01m7nb2kx5r6e5p3b2e4730p8v', 0);
INSERT INTO event VALUES (79, 'agent:joined', 1, 'agent/bob', 2, '2026-11-17T18:07:31.446Z', 'Bob#2', '{"name":"Bob","incarnation":2,"roles":["developer"],"worktree":".","replaces":1}', NULL, NULL, NULL, '01m7nb2m3pksh9fq09tqds4etj', 0);
INSERT INTO event VALUES (80, 'task:lapsed', 1, 'task/lapse-1', 77, '2026-11-17T18:07:31.446Z', 'Bob#2', '{"verb":"lapse","source":"working","target":"open","phase":"open","attempt":2,"reason":"replaced by Bob#2","silent_for":0.0,"ttl":0.0}', NULL, NULL, NULL, '01m7nb2m3pksh9fq09tqds4etj', 1);
INSERT INTO event VALUES (81, 'file:lapsed', 1, 'claims', 78, '2026-11-17T18:07:31.446Z', 'Bob#2', '{"id":"c-3t4v6te","holder":"Bob#1","paths":["x[0-9].txt","x[[]0-9].txt"],"ttl":60.0,"reason":"replaced"}', NULL, NULL, NULL, '01m7nb2m3pksh9fq09tqds4etj', 2);
INSERT INTO event VALUES (82, 'file:lapsed', 1, 'claims', 81, '2026-11-17T18:07:31.446Z', 'Bob#2', '{"id":"c-j5wrbez","holder":"Bob#1","paths":["lapsing.py"],"ttl":1800.0,"reason":"replaced"}', NULL, NULL, NULL, '01m7nb2m3pksh9fq09tqds4etj', 3);
INSERT INTO event VALUES (83, 'build:finished', 1, 'topic/build', 0, '2026-11-17T18:07:31.665Z', 'Ada#1', '{"n":1,"deep":{"list":[1,"two",null]}}', NULL, NULL, NULL, '01m7nb2mahh6bv6bhpepntb96r', 0);
INSERT INTO event VALUES (84, 'effect:requested', 1, 'effect/e-0cga2gs8fz', 0, '2026-11-17T18:07:31.665Z', 'Ada#1', '{"handler":"tell","n":0,"on":"build:finished","stream":"topic/build"}', NULL, NULL, NULL, '01m7nb2mahh6bv6bhpepntb96r', 1);
INSERT INTO event VALUES (85, 'cache:warmed', 1, 'topic/nightly', 0, '2026-11-17T18:07:31.851Z', 'person:anna', '{}', NULL, NULL, NULL, '01m7nb2mgb8e80xgn5j6wbmaf8', 0);
INSERT INTO event VALUES (86, 'effect:requested', 1, 'effect/e-w8e4tzsp5z', 0, '2026-11-17T18:07:31.851Z', 'person:anna', '{"handler":"far","n":0,"on":"cache:warmed","stream":"topic/nightly"}', NULL, NULL, NULL, '01m7nb2mgb8e80xgn5j6wbmaf8', 1);
INSERT INTO event VALUES (87, 'effect:taken', 1, 'effect/e-0cga2gs8fz', 84, '2026-11-17T18:07:32.064Z', 'person:anna', '{"runner":"runner-4kevzq9v#28726","attempt":1,"ttl":90.0}', NULL, NULL, NULL, '01m7nb2mq2hkq0xy7hzkdm39gd', 0);
INSERT INTO event VALUES (88, 'message:sent', 1, 'message/m-704f5k5', 0, '2026-11-17T18:07:32.064Z', 'person:anna', '{"kind":"note","sender":"moot","to":["Bob"],"wants":"nothing","text":"build:finished"}', NULL, 'm-704f5k5', NULL, '01m7nb2mq2hkq0xy7hzkdm39gd', 1);
INSERT INTO event VALUES (89, 'effect:done', 1, 'effect/e-0cga2gs8fz', 87, '2026-11-17T18:07:32.064Z', 'person:anna', '{"attempt":1}', NULL, NULL, NULL, '01m7nb2mq2hkq0xy7hzkdm39gd', 2);
INSERT INTO event VALUES (90, 'cache:warmed', 1, 'topic/cache', 0, '2026-11-17T18:07:32.439Z', 'person:anna', '{}', NULL, NULL, NULL, '01m7nb2n2q61yyb6mz98rnvvmx', 0);
INSERT INTO event VALUES (91, 'effect:requested', 1, 'effect/e-415k61g9kx', 0, '2026-11-17T18:07:32.439Z', 'person:anna', '{"handler":"far","n":0,"on":"cache:warmed","stream":"topic/cache"}', NULL, NULL, NULL, '01m7nb2n2q61yyb6mz98rnvvmx', 1);
INSERT INTO event VALUES (92, 'cache:cooled', 1, 'topic/cache', 90, '2026-11-17T18:07:32.656Z', 'person:anna', '{}', NULL, NULL, NULL, '01m7nb2n9gwdv43hf1m0anra35', 0);
INSERT INTO event VALUES (93, 'effect:requested', 1, 'effect/e-9v5vd58fhr', 0, '2026-11-17T18:07:32.656Z', 'person:anna', '{"handler":"far","n":0,"on":"cache:cooled","stream":"topic/cache"}', NULL, NULL, NULL, '01m7nb2n9gwdv43hf1m0anra35', 1);
INSERT INTO event VALUES (94, 'effect:retried', 1, 'effect/e-415k61g9kx', 91, '2026-11-17T18:07:33.853Z', 'person:anna', '{}', NULL, NULL, NULL, '01m7nb2pezvcbtary1qesd4bpp', 0);
INSERT INTO event VALUES (95, 'task:added', 1, 'task/task-050', 0, '2026-11-17T18:07:34.089Z', 'Ada#1', '{"title":"Build it","state":"pending","phase":"open","lifecycle":"orchestrator","creator":"Ada#1","ttl":1800.0,"extra":{"platform":"web"}}', NULL, NULL, NULL, '01m7nb2ppgtnj2rq1647fywgpk', 0);
INSERT INTO event VALUES (96, 'task:started', 1, 'task/task-050', 95, '2026-11-17T18:07:34.089Z', 'Ada#1', '{"verb":"claim","source":"pending","target":"in_progress","phase":"working","attempt":1,"holder":"Ada#1","role":"team-lead"}', NULL, NULL, NULL, '01m7nb2ppgtnj2rq1647fywgpk', 1);
INSERT INTO event VALUES (97, 'message:sent', 1, 'message/m-9sv642q', 0, '2026-11-17T18:07:34.089Z', 'Ada#1', '{"kind":"task_assignment","sender":"Ada#1","to":["@developer"],"wants":"ack","data":{"type":"task_assignment","taskId":"task-050","platform":"web","title":"Build it","instructions":"As described.","filesToCreate":["a.py"],"architecture":"One.","timestamp":"2031-05-08T09:30:00Z"},"task":"task-050","attempt":1,"role":"team-lead","flags":["clock_differs: the sender''s timestamp lies 1633 days after the arrival"]}', NULL, 'm-9sv642q', 'orchestrator', '01m7nb2ppgtnj2rq1647fywgpk', 2);
INSERT INTO event VALUES (98, 'entry:held', 1, 'entry/h-ztksqp5', 0, '2026-11-17T18:07:34.303Z', 'role:team-lead', '{"path":".claude-orchestrator/tasks/messages/to-developer.json","mirror":"to-developer","raw":"{\"type\": \"task_assignment\", \"taskId\": \"task-051\"}","code":"bad_message","reason":"The task_assignment has 6 defects: platform: expected one of web, android, ios, custom, found nothing; title: expected a non-empty string, found nothing; instructions: expected a non-empty string, found nothing; filesToCreate: expected a list, each a non-empty string, found nothing; architecture: expected a non-empty string, found nothing; timestamp: expected an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z, found nothing. Correct all of them and send it again; `--dry-run` checks without sending.","defects":[{"path":"platform","expected":"one of web, android, ios, custom","found":"nothing"},{"path":"title","expected":"a non-empty string","found":"nothing"},{"path":"instructions","expected":"a non-empty string","found":"nothing"},{"path":"filesToCreate","expected":"a list, each a non-empty string","found":"nothing"},{"path":"architecture","expected":"a non-empty string","found":"nothing"},{"path":"timestamp","expected":"an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z","found":"nothing"}],"task":"task-051"}', NULL, NULL, NULL, '01m7nb2px0zcbphq7z5ftafnpc', 0);
INSERT INTO event VALUES (99, 'message:sent', 1, 'message/m-6gmfh77', 0, '2026-11-17T18:07:34.303Z', 'role:team-lead', '{"kind":"note","sender":"moot","to":["@developer"],"wants":"nothing","text":"An entry of .claude-orchestrator/tasks/messages/to-developer.json is held as h-ztksqp5: The task_assignment has 6 defects: platform: expected one of web, android, ios, custom, found nothing; title: expected a non-empty string, found nothing; instructions: expected a non-empty string, found nothing; filesToCreate: expected a list, each a non-empty string, found nothing; architecture: expected a non-empty string, found nothing; timestamp: expected an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z, found nothing. Correct all of them and send it again; `--dry-run` checks without sending."}', NULL, 'm-6gmfh77', NULL, '01m7nb2px0zcbphq7z5ftafnpc', 1);
INSERT INTO event VALUES (100, 'task:added', 1, 'task/task/../x', 0, '2026-11-17T18:07:34.307Z', 'role:team-lead', '{"title":"Build it","state":"pending","phase":"open","lifecycle":"orchestrator","creator":"role:team-lead","ttl":1800.0,"extra":{"platform":"web"}}', NULL, NULL, NULL, '01m7nb2px6ad7aabfgz1675mb7', 0);
INSERT INTO event VALUES (101, 'task:started', 1, 'task/task/../x', 100, '2026-11-17T18:07:34.307Z', 'role:team-lead', '{"verb":"claim","source":"pending","target":"in_progress","phase":"working","attempt":1,"holder":"role:team-lead","role":"team-lead"}', NULL, NULL, NULL, '01m7nb2px6ad7aabfgz1675mb7', 1);
INSERT INTO event VALUES (102, 'message:sent', 1, 'message/m-dp80rfj', 0, '2026-11-17T18:07:34.307Z', 'role:team-lead', '{"kind":"task_assignment","sender":"role:team-lead","to":["@developer"],"wants":"ack","data":{"type":"task_assignment","taskId":"task/../x","platform":"web","title":"Build it","instructions":"As.","filesToCreate":["a.py"],"architecture":"One.","timestamp":"2031-05-08T09:31:00Z"},"task":"task/../x","attempt":1,"role":"team-lead","source":".claude-orchestrator/tasks/messages/to-developer.json","flags":["clock_differs: the sender''s timestamp lies 1633 days after the arrival"]}', NULL, 'm-dp80rfj', 'orchestrator', '01m7nb2px6ad7aabfgz1675mb7', 2);
INSERT INTO event VALUES (103, 'entry:dropped', 1, 'entry/h-ztksqp5', 98, '2026-11-17T18:07:34.746Z', 'person:anna', '{"reason":"no"}', NULL, NULL, NULL, '01m7nb2qat7sn4bk9074s5fhzt', 0);
INSERT INTO event VALUES (104, 'event:redacted', 1, 'redactions', 0, '2026-11-17T18:07:35.264Z', 'person:anna', '{"position":20,"commit":"01m7nb29fpegq8xawsh8stsx5c","n":0,"digest":"93c53d53a3e4b79820d79e74e414560912b1120a1a816e27e3fc4df4a1da2d94","fields":["reason"],"reason":"secret"}', NULL, NULL, NULL, '01m7nb2qv3mm5qv6egvgqzbnm2', 0);
INSERT INTO commits VALUES ('01m7nb258zkt7f78mp8kd45py3', 1, 1);
INSERT INTO commits VALUES ('01m7nb25h78nj87vg2eccw4tt2', 2, 2);
INSERT INTO commits VALUES ('01m7nb25se05eztaw65vmnzdnt', 3, 3);
INSERT INTO commits VALUES ('01m7nb265by4y7b57q9exqxr9k', 4, 4);
INSERT INTO commits VALUES ('01m7nb26gfpfg34p4z4whypfh3', 5, 5);
INSERT INTO commits VALUES ('01m7nb270vtx98jd6h5pfgq6yt', 6, 6);
INSERT INTO commits VALUES ('01m7nb277rphsfgzj1wzxgzxje', 7, 7);
INSERT INTO commits VALUES ('01m7nb27fa5ks81rat9ay2rqra', 8, 9);
INSERT INTO commits VALUES ('01m7nb27myphc0mwz4rb7dgmr7', 10, 10);
INSERT INTO commits VALUES ('01m7nb27vzr0wa5qxhvwa2y119', 11, 11);
INSERT INTO commits VALUES ('01m7nb281gas8w3aj33kfsqj8g', 12, 12);
INSERT INTO commits VALUES ('01m7nb288gkg4km60683tc5rz4', 13, 13);
INSERT INTO commits VALUES ('01m7nb28e2my7myj887tzbxvae', 14, 14);
INSERT INTO commits VALUES ('01m7nb28m055g9p9zbamxxbb9m', 15, 15);
INSERT INTO commits VALUES ('01m7nb28skqjy62jn1a5f5ck3x', 16, 16);
INSERT INTO commits VALUES ('01m7nb28zcegjwf40k80r5t875', 17, 17);
INSERT INTO commits VALUES ('01m7nb29522vhrq76q0katc4dy', 18, 18);
INSERT INTO commits VALUES ('01m7nb29aeda64f4csp8ctb1z9', 19, 19);
INSERT INTO commits VALUES ('01m7nb29fpegq8xawsh8stsx5c', 20, 20);
INSERT INTO commits VALUES ('01m7nb29n15c5atb6bchpq8wyz', 21, 21);
INSERT INTO commits VALUES ('01m7nb29t8rh883typtztk25ef', 22, 22);
INSERT INTO commits VALUES ('01m7nb29z6yxe0fdksqt7tybgv', 23, 23);
INSERT INTO commits VALUES ('01m7nb2a47tvnf6n807h172sev', 24, 25);
INSERT INTO commits VALUES ('01m7nb2a90h342gbfkpqpd8kvq', 26, 27);
INSERT INTO commits VALUES ('01m7nb2adz589w9w8f3mtfa9j9', 28, 28);
INSERT INTO commits VALUES ('01m7nb2ajttn0vt2m1ztyk675r', 29, 29);
INSERT INTO commits VALUES ('01m7nb2awdckbv11s166np3d4t', 30, 31);
INSERT INTO commits VALUES ('01m7nb2b19gmmxg4cdrgvyeqy2', 32, 32);
INSERT INTO commits VALUES ('01m7nb2b8tema8v4078ghk9s7p', 33, 33);
INSERT INTO commits VALUES ('01m7nb2bf6wn0pwpnkjjw2x5pa', 34, 34);
INSERT INTO commits VALUES ('01m7nb2bn3z36yd5e1bstrz2w0', 35, 35);
INSERT INTO commits VALUES ('01m7nb2c1ze3xa6yqkq71fwce0', 36, 36);
INSERT INTO commits VALUES ('01m7nb2c8dhr115fact3859rew', 37, 37);
INSERT INTO commits VALUES ('01m7nb2ce2wrt5bdr99mb7evba', 38, 38);
INSERT INTO commits VALUES ('01m7nb2cmryv05f8zstmhxz325', 39, 39);
INSERT INTO commits VALUES ('01m7nb2cvv7ytxvdqpj82pf1fp', 40, 40);
INSERT INTO commits VALUES ('01m7nb2d3p5xre03pyrny7gzak', 41, 43);
INSERT INTO commits VALUES ('01m7nb2da85tdca9x11q8011yh', 44, 44);
INSERT INTO commits VALUES ('01m7nb2djtfd5dvj8d6gaejzt8', 45, 49);
INSERT INTO commits VALUES ('01m7nb2dwhqwfx62nd787rbbvm', 50, 50);
INSERT INTO commits VALUES ('01m7nb2e5wqhgae517s243v1wz', 51, 51);
INSERT INTO commits VALUES ('01m7nb2eg0etk6q6yv32n86g59', 52, 52);
INSERT INTO commits VALUES ('01m7nb2etghef0wadd6te76qhc', 53, 53);
INSERT INTO commits VALUES ('01m7nb2f215vp9dnywa1wdsb6f', 54, 54);
INSERT INTO commits VALUES ('01m7nb2fjfctdgxm7tbtvt0bd9', 55, 55);
INSERT INTO commits VALUES ('01m7nb2fqs15rzwbx7rpjdgndb', 56, 56);
INSERT INTO commits VALUES ('01m7nb2g2en16qf7mtg6ke6dy1', 57, 58);
INSERT INTO commits VALUES ('01m7nb2g9akhgvfm7869xbavd5', 59, 59);
INSERT INTO commits VALUES ('01m7nb2gnr8bye6bdn64ytsk3x', 60, 60);
INSERT INTO commits VALUES ('01m7nb2gy00hs31g22zzc058as', 61, 61);
INSERT INTO commits VALUES ('01m7nb2h3r34fpy0mjvqq2vvnr', 62, 63);
INSERT INTO commits VALUES ('01m7nb2hjh1spqeas3rfqy8cm7', 64, 64);
INSERT INTO commits VALUES ('01m7nb2htdr29zd5fft9z9s5hp', 65, 65);
INSERT INTO commits VALUES ('01m7nb2hzj79fcwmgsc37d9ew4', 66, 67);
INSERT INTO commits VALUES ('01m7nb2j8np7q3qy7ps88kvhzh', 68, 68);
INSERT INTO commits VALUES ('01m7nb2jep06dp39r0hmhmg37j', 69, 69);
INSERT INTO commits VALUES ('01m7nb2jn0qftwceh8bekydesy', 70, 70);
INSERT INTO commits VALUES ('01m7nb2jt8efej5fbnqr76v7fe', 71, 71);
INSERT INTO commits VALUES ('01m7nb2jznjdjb1dq8r8knm2m4', 72, 72);
INSERT INTO commits VALUES ('01m7nb2k69tanzmd4gvdbkm8yx', 73, 73);
INSERT INTO commits VALUES ('01m7nb2kba34pcg2dfzh6b8fev', 74, 75);
INSERT INTO commits VALUES ('01m7nb2kh7kms2vwjtbpw30ky8', 76, 76);
INSERT INTO commits VALUES ('01m7nb2kqpgg5eavepphmq7z7b', 77, 77);
INSERT INTO commits VALUES ('01m7nb2kx5r6e5p3b2e4730p8v', 78, 78);
INSERT INTO commits VALUES ('01m7nb2m3pksh9fq09tqds4etj', 79, 82);
INSERT INTO commits VALUES ('01m7nb2mahh6bv6bhpepntb96r', 83, 84);
INSERT INTO commits VALUES ('01m7nb2mgb8e80xgn5j6wbmaf8', 85, 86);
INSERT INTO commits VALUES ('01m7nb2mq2hkq0xy7hzkdm39gd', 87, 89);
INSERT INTO commits VALUES ('01m7nb2n2q61yyb6mz98rnvvmx', 90, 91);
INSERT INTO commits VALUES ('01m7nb2n9gwdv43hf1m0anra35', 92, 93);
INSERT INTO commits VALUES ('01m7nb2pezvcbtary1qesd4bpp', 94, 94);
INSERT INTO commits VALUES ('01m7nb2ppgtnj2rq1647fywgpk', 95, 97);
INSERT INTO commits VALUES ('01m7nb2px0zcbphq7z5ftafnpc', 98, 99);
INSERT INTO commits VALUES ('01m7nb2px6ad7aabfgz1675mb7', 100, 102);
INSERT INTO commits VALUES ('01m7nb2qat7sn4bk9074s5fhzt', 103, 103);
INSERT INTO commits VALUES ('01m7nb2qv3mm5qv6egvgqzbnm2', 104, 104);
INSERT INTO meta VALUES ('workspace', 'a33e5a263a32baf5d9074695b5c11dec');
CREATE INDEX event_of_stream ON event (stream);
CREATE TRIGGER event_only_at_the_end BEFORE INSERT ON event
WHEN new.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM event)
BEGIN SELECT raise(ABORT, 'an event is appended at the end of the log'); END;
CREATE TRIGGER commit_only_once BEFORE INSERT ON commits
WHEN EXISTS (SELECT 1 FROM commits WHERE id = new.id)
BEGIN SELECT raise(ABORT, 'a commit is written once'); END;
CREATE TRIGGER request_only_once BEFORE INSERT ON request
WHEN EXISTS (SELECT 1 FROM request WHERE scope = new.scope AND key = new.key)
BEGIN SELECT raise(ABORT, 'a request is written once'); END;
CREATE TRIGGER event_never_goes BEFORE DELETE ON event BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER commit_never_changes BEFORE UPDATE ON commits BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER commit_never_goes BEFORE DELETE ON commits BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER request_never_changes BEFORE UPDATE ON request BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER request_never_goes BEFORE DELETE ON request BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER event_never_changes BEFORE UPDATE ON event
WHEN new.position IS NOT old.position OR new.type IS NOT old.type OR new.v IS NOT old.v OR new.stream IS NOT old.stream
  OR new.prev IS NOT old.prev OR new.at IS NOT old.at OR new."by" IS NOT old."by" OR new.cause IS NOT old.cause
  OR new.thread IS NOT old.thread OR new.pack IS NOT old.pack OR new.commit_id IS NOT old.commit_id OR new.n IS NOT old.n
  OR old.stream = 'redactions'
  OR NOT EXISTS (
    SELECT 1 FROM event t
    WHERE t.stream = 'redactions' AND t.type = 'event:redacted'
      AND json_extract(t.data, '$.position') = old.position AND json_extract(t.data, '$.commit') = old.commit_id
      AND json_extract(t.data, '$.digest') = json_extract(new.data, '$.redacted'))
BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

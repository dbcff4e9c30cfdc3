PRAGMA user_version = 3;
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
INSERT INTO event VALUES (1, 'agent:joined', 1, 'agent/ada', 0, '2026-11-17T18:07:37.145Z', 'Ada#1', '{"name":"Ada","incarnation":1,"roles":["reviewer","team-lead"],"worktree":"."}', NULL, NULL, NULL, '01m7nb2snvfdh13b16f643a2hh', 0);
INSERT INTO event VALUES (2, 'agent:joined', 1, 'agent/bob', 0, '2026-11-17T18:07:37.332Z', 'Bob#1', '{"name":"Bob","incarnation":1,"roles":["developer"],"worktree":"."}', NULL, NULL, NULL, '01m7nb2svntjyw6fcwzcx99zt4', 0);
INSERT INTO event VALUES (3, 'agent:joined', 1, 'agent/cyd', 0, '2026-11-17T18:07:37.549Z', 'Cyd#1', '{"name":"Cyd","incarnation":1,"worktree":"."}', NULL, NULL, NULL, '01m7nb2t2dnqraqske579kk9x8', 0);
INSERT INTO event VALUES (4, 'agent:left', 1, 'agent/cyd', 3, '2026-11-17T18:07:37.744Z', 'Cyd#1', '{"incarnation":1}', NULL, NULL, NULL, '01m7nb2t8h77evn0s9gpk0sbgr', 0);
INSERT INTO event VALUES (5, 'agent:joined', 1, 'agent/cyd', 4, '2026-11-17T18:07:37.954Z', 'Cyd#2', '{"name":"Cyd","incarnation":2,"worktree":"."}', NULL, NULL, NULL, '01m7nb2tf32xp8x8x9ezt6fzkf', 0);
INSERT INTO event VALUES (6, 'agent:left', 1, 'agent/cyd', 5, '2026-11-17T18:07:38.183Z', 'person:anna', '{"incarnation":2,"retired":true}', NULL, NULL, NULL, '01m7nb2tp7e41qg6z5rg222jwb', 0);
INSERT INTO event VALUES (7, 'task:added', 1, 'task/task-001', 0, '2026-11-17T18:07:38.348Z', 'Ada#1', '{"title":"Write it","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","priority":"high","ttl":1800.0}', NULL, NULL, NULL, '01m7nb2tvcrhadrxg3y0mmdhaw', 0);
INSERT INTO event VALUES (8, 'task:added', 1, 'task/task-002', 0, '2026-11-17T18:07:38.533Z', 'Ada#1', '{"title":"Test it","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0,"needs":["task-001"],"waits":["task-001"]}', NULL, NULL, NULL, '01m7nb2v15f4z0vaxe2srtd41j', 0);
INSERT INTO event VALUES (9, 'graph:linked', 1, 'graph', 0, '2026-11-17T18:07:38.533Z', 'Ada#1', '{"task":"task-002","needs":["task-001"]}', NULL, NULL, NULL, '01m7nb2v15f4z0vaxe2srtd41j', 1);
INSERT INTO event VALUES (10, 'task:added', 1, 'task/task-003', 0, '2026-11-17T18:07:38.769Z', 'Ada#1', '{"title":"Hold it","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0}', NULL, NULL, NULL, '01m7nb2v8jdcxmysvx7hjfzd4z', 0);
INSERT INTO event VALUES (11, 'task:added', 1, 'task/X y;$(z)', 0, '2026-11-17T18:07:38.972Z', 'Ada#1', '{"title":"odd id","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0}', NULL, NULL, NULL, '01m7nb2vewb0hetmxgevc9bn27', 0);
INSERT INTO event VALUES (12, 'task:added', 1, 'task/task-004', 0, '2026-11-17T18:07:39.190Z', 'Ada#1', '{"title":"No review","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","review":false,"ttl":1800.0}', NULL, NULL, NULL, '01m7nb2vnpdvjr87t8p9vfbnkr', 0);
INSERT INTO event VALUES (13, 'task:started', 1, 'task/task-001', 7, '2026-11-17T18:07:39.422Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb2vwy5wrw57be10554qfb', 0);
INSERT INTO event VALUES (14, 'task:submitted', 1, 'task/task-001', 13, '2026-11-17T18:07:39.626Z', 'Bob#1', '{"verb":"submit","source":"working","target":"review","phase":"review","attempt":1,"author":"Bob#1"}', NULL, NULL, NULL, '01m7nb2w3axyy8vdvecbgd3fc2', 0);
INSERT INTO event VALUES (15, 'task:rejected', 1, 'task/task-001', 14, '2026-11-17T18:07:39.778Z', 'Ada#1', '{"verb":"reject","source":"review","target":"open","phase":"open","attempt":2,"role":"reviewer","reason":"no"}', NULL, NULL, NULL, '01m7nb2w835n676j13jdyyh34e', 0);
INSERT INTO event VALUES (16, 'task:started', 1, 'task/task-001', 15, '2026-11-17T18:07:39.931Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":2,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb2wcvpxnrnrp2pzyc701s', 0);
INSERT INTO event VALUES (17, 'task:released', 1, 'task/task-001', 16, '2026-11-17T18:07:40.076Z', 'Bob#1', '{"verb":"release","source":"working","target":"open","phase":"open","attempt":2}', NULL, NULL, NULL, '01m7nb2whcq8mc1jkewy12zvjq', 0);
INSERT INTO event VALUES (18, 'task:started', 1, 'task/task-003', 10, '2026-11-17T18:07:40.238Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb2wpewchmeekjjfpcz6nr', 0);
INSERT INTO event VALUES (19, 'task:failed', 1, 'task/task-003', 18, '2026-11-17T18:07:40.406Z', 'Bob#1', '{"verb":"fail","source":"working","target":"failed","phase":"stopped","attempt":1,"reason":"bad"}', NULL, NULL, NULL, '01m7nb2wvpd6sq82meq597n3m3', 0);
INSERT INTO event VALUES (20, 'task:reopened', 1, 'task/task-003', 19, '2026-11-17T18:07:40.552Z', 'Ada#1', '{"verb":"reopen","source":"failed","target":"open","phase":"open","attempt":2,"reason":"again"}', NULL, NULL, NULL, '01m7nb2x09hxztk94twht8y4p3', 0);
INSERT INTO event VALUES (21, 'task:started', 1, 'task/task-004', 12, '2026-11-17T18:07:40.694Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb2x4qsg8k5wd4pw26z1be', 0);
INSERT INTO event VALUES (22, 'task:completed', 1, 'task/task-004', 21, '2026-11-17T18:07:40.838Z', 'Bob#1', '{"verb":"complete","source":"working","target":"done","phase":"done","attempt":1}', NULL, NULL, NULL, '01m7nb2x96t7rfthncbz927qt2', 0);
INSERT INTO event VALUES (23, 'task:cancelled', 1, 'task/task-002', 8, '2026-11-17T18:07:40.979Z', 'Ada#1', '{"verb":"cancel","source":"open","target":"cancelled","phase":"stopped","attempt":1,"role":"creator","reason":"not needed"}', NULL, NULL, NULL, '01m7nb2xdkgs0960bk22krn040', 0);
INSERT INTO event VALUES (24, 'graph:linked', 1, 'graph', 9, '2026-11-17T18:07:41.127Z', 'Ada#1', '{"task":"task-003","needs":["task-001"]}', NULL, NULL, NULL, '01m7nb2xj7vzx7pdg14fpnrhgn', 0);
INSERT INTO event VALUES (25, 'task:blocked', 1, 'task/task-003', 20, '2026-11-17T18:07:41.127Z', 'Ada#1', '{"on":["task-001"]}', NULL, NULL, NULL, '01m7nb2xj7vzx7pdg14fpnrhgn', 1);
INSERT INTO event VALUES (26, 'graph:unlinked', 1, 'graph', 24, '2026-11-17T18:07:41.269Z', 'Ada#1', '{"task":"task-003","needs":["task-001"]}', NULL, NULL, NULL, '01m7nb2xpn0csdg5vy3khzkmsm', 0);
INSERT INTO event VALUES (27, 'task:readied', 1, 'task/task-003', 25, '2026-11-17T18:07:41.269Z', 'Ada#1', '{"done":"task-001"}', NULL, NULL, NULL, '01m7nb2xpn0csdg5vy3khzkmsm', 1);
INSERT INTO event VALUES (28, 'message:sent', 1, 'message/m-82drjvd', 0, '2026-11-17T18:07:41.407Z', 'Ada#1', '{"kind":"request","sender":"Ada#1","to":["Bob"],"wants":"answer","text":"Please look","within":100.0}', NULL, 'm-82drjvd', NULL, '01m7nb2xtzd9v94b9zry1vh3xj', 0);
INSERT INTO event VALUES (29, 'message:offered', 1, 'mailbox/bob', 0, '2026-11-17T18:07:41.546Z', 'Bob#1', '{"ids":["m-82drjvd"],"to":"Bob#1"}', NULL, NULL, NULL, '01m7nb2xzafz4sbtfygvyy282g', 0);
INSERT INTO event VALUES (30, 'message:sent', 1, 'message/m-657k9gs', 0, '2026-11-17T18:07:41.829Z', 'Bob#1', '{"kind":"reply","sender":"Bob#1","to":["Ada"],"wants":"nothing","text":"done","reply_to":"m-82drjvd"}', NULL, 'm-82drjvd', NULL, '01m7nb2y85h34jyd44sq6nk9bt', 0);
INSERT INTO event VALUES (31, 'message:answered', 1, 'mailbox/bob', 29, '2026-11-17T18:07:41.829Z', 'Bob#1', '{"id":"m-82drjvd","reply":"m-657k9gs","who":"Bob#1"}', NULL, NULL, NULL, '01m7nb2y85h34jyd44sq6nk9bt', 1);
INSERT INTO event VALUES (32, 'message:sent', 1, 'message/m-hq0cd85', 0, '2026-11-17T18:07:41.979Z', 'Bob#1', '{"kind":"note","sender":"Bob#1","to":["Ada"],"wants":"nothing","text":"hello"}', NULL, 'm-hq0cd85', NULL, '01m7nb2ycv900hn6kezrf1rn8m', 0);
INSERT INTO event VALUES (33, 'message:offered', 1, 'mailbox/ada', 0, '2026-11-17T18:07:42.127Z', 'Ada#1', '{"ids":["m-657k9gs","m-hq0cd85"],"to":"Ada#1"}', NULL, NULL, NULL, '01m7nb2yhfq766cptb7nyxyjyf', 0);
INSERT INTO event VALUES (34, 'message:sent', 1, 'message/m-n82qd6r', 0, '2026-11-17T18:07:42.298Z', 'Ada#1', '{"kind":"note","sender":"Ada#1","to":["Bob"],"wants":"nothing","text":"to all"}', NULL, 'm-n82qd6r', NULL, '01m7nb2yptvr0bfqkvaze1fz3g', 0);
INSERT INTO event VALUES (35, 'message:sent', 1, 'message/m-9zh3dc0', 0, '2026-11-17T18:07:42.587Z', 'person:anna', '{"kind":"note","sender":"person:anna","to":["Ada"],"wants":"nothing","text":"from a person"}', NULL, 'm-9zh3dc0', NULL, '01m7nb2yzvcym201d4qmx81dhv', 0);
INSERT INTO event VALUES (36, 'file:claimed', 1, 'claims', 0, '2026-11-17T18:07:42.983Z', 'Bob#1', '{"id":"c-mq3s5g0","holder":"Bob#1","paths":["src/b.py","lib/**"],"mode":"exclusive","ttl":1800.0,"reason":"grammar"}', NULL, NULL, NULL, '01m7nb2zc7zer1zygc3mpc6a3p', 0);
INSERT INTO event VALUES (37, 'file:claimed', 1, 'claims', 36, '2026-11-17T18:07:43.166Z', 'Ada#1', '{"id":"c-p6jscar","holder":"Ada#1","paths":["docs/**"],"mode":"shared","ttl":1800.0}', NULL, NULL, NULL, '01m7nb2zhzx8n5z54d9639dk41', 0);
INSERT INTO event VALUES (38, 'file:released', 1, 'claims', 37, '2026-11-17T18:07:43.440Z', 'Bob#1', '{"id":"c-mq3s5g0","holder":"Bob#1","paths":["src/b.py"],"left":["lib/**"]}', NULL, NULL, NULL, '01m7nb2zth9jyjztef2twmgj2e', 0);
INSERT INTO event VALUES (39, 'file:claimed', 1, 'claims', 38, '2026-11-17T18:07:43.619Z', 'Bob#1', '{"id":"c-f3k0zdv","holder":"Bob#1","paths":["x[0-9].txt","x[[]0-9].txt"],"mode":"exclusive","ttl":60.0}', NULL, NULL, NULL, '01m7nb3003j8bb15a0fcqp5hcd', 0);
INSERT INTO event VALUES (40, 'file:released', 1, 'claims', 39, '2026-11-17T18:07:43.810Z', 'person:anna', '{"id":"c-mq3s5g0","holder":"Bob#1","paths":["lib/**"],"forced":true,"reason":"r"}', NULL, NULL, NULL, '01m7nb3063rkpv1gs5ndj71080', 0);
INSERT INTO event VALUES (41, 'artifact:created', 1, 'artifact/a.py', 0, '2026-11-17T18:07:44.016Z', 'Bob#1', '{"creator":"Bob#1","paths":["a.py"],"provides":["B"],"summary":"The parser."}', NULL, NULL, NULL, '01m7nb30cnt988fmq921jgc9mc', 0);
INSERT INTO event VALUES (42, 'dependency:provided', 1, 'dependency/a.py', 0, '2026-11-17T18:07:44.016Z', 'Bob#1', '{"artifact":"a.py"}', NULL, NULL, NULL, '01m7nb30cnt988fmq921jgc9mc', 1);
INSERT INTO event VALUES (43, 'dependency:provided', 1, 'dependency/B', 0, '2026-11-17T18:07:44.016Z', 'Bob#1', '{"artifact":"a.py"}', NULL, NULL, NULL, '01m7nb30cnt988fmq921jgc9mc', 2);
INSERT INTO event VALUES (44, 'dependency:declared', 1, 'dependency/A', 0, '2026-11-17T18:07:44.237Z', 'Bob#1', '{"needer":"Bob","who":"Bob"}', NULL, NULL, NULL, '01m7nb30keka60286wcafcw2bd', 0);
INSERT INTO event VALUES (45, 'artifact:created', 1, 'artifact/A', 0, '2026-11-17T18:07:44.504Z', 'Ada#1', '{"creator":"Ada#1","uri":"http://x/","kind":"service"}', NULL, NULL, NULL, '01m7nb30vybxx2ak94c4nkqpba', 0);
INSERT INTO event VALUES (46, 'dependency:provided', 1, 'dependency/A', 44, '2026-11-17T18:07:44.504Z', 'Ada#1', '{"artifact":"A"}', NULL, NULL, NULL, '01m7nb30vybxx2ak94c4nkqpba', 1);
INSERT INTO event VALUES (47, 'dependency:satisfied', 1, 'dependency/A', 46, '2026-11-17T18:07:44.504Z', 'Ada#1', '{"artifact":"A","required_by":["Bob"]}', NULL, NULL, NULL, '01m7nb30vybxx2ak94c4nkqpba', 2);
INSERT INTO event VALUES (48, 'message:sent', 1, 'message/m-d50fyhy', 0, '2026-11-17T18:07:44.504Z', 'Ada#1', '{"kind":"dependency","sender":"moot","to":["Bob"],"wants":"nothing","text":"A is there."}', NULL, 'dependency/A', NULL, '01m7nb30vybxx2ak94c4nkqpba', 3);
INSERT INTO event VALUES (49, 'dependency:provided', 1, 'dependency/http://x/', 0, '2026-11-17T18:07:44.504Z', 'Ada#1', '{"artifact":"A"}', NULL, NULL, NULL, '01m7nb30vybxx2ak94c4nkqpba', 4);
INSERT INTO event VALUES (50, 'artifact:modified', 1, 'artifact/a.py', 41, '2026-11-17T18:07:44.772Z', 'Bob#1', '{"modifier":"Bob#1","changes":["more"]}', NULL, NULL, NULL, '01m7nb3147c3a2hawbhjw1e916', 0);
INSERT INTO event VALUES (51, 'dependency:declared', 1, 'dependency/Never', 0, '2026-11-17T18:07:44.975Z', 'Bob#1', '{"needer":"Bob","who":"Bob"}', NULL, NULL, NULL, '01m7nb31agmh6k7m0e20yxz70e', 0);
INSERT INTO event VALUES (52, 'dependency:dropped', 1, 'dependency/Never', 51, '2026-11-17T18:07:45.184Z', 'Bob#1', '{"needer":"Bob"}', NULL, NULL, NULL, '01m7nb31h16f521fg0qbrhsrn3', 0);
INSERT INTO event VALUES (53, 'decision:made', 1, 'decision/d-gz1yycg', 0, '2026-11-17T18:07:45.408Z', 'Ada#1', '{"maker":"Ada#1","title":"Use spaces","affects":["task-*"],"paths":["src/**"]}', NULL, NULL, NULL, '01m7nb31r4vx5s4cxvrgd1tvgv', 0);
INSERT INTO event VALUES (54, 'decision:made', 1, 'decision/tabs', 0, '2026-11-17T18:07:45.668Z', 'Ada#1', '{"maker":"Ada#1","title":"Use four"}', NULL, NULL, NULL, '01m7nb3205m05ybqbjspbe9kv7', 0);
INSERT INTO event VALUES (55, 'decision:superseded', 1, 'decision/tabs', 54, '2026-11-17T18:07:46.247Z', 'Ada#1', '{"by":"d-gz1yycg","who":"Ada#1"}', NULL, NULL, NULL, '01m7nb32j8sb3g4q5ryhynm15w', 0);
INSERT INTO event VALUES (56, 'checkpoint:reached', 1, 'checkpoint/k-209x1sg', 0, '2026-11-17T18:07:46.547Z', 'Bob#1', '{"who":"Bob#1","kind":"human-verify","question":"Which colour?","options":["blue","red"],"task":"task-003"}', NULL, NULL, NULL, '01m7nb32vma2g81sy05aexb8h5', 0);
INSERT INTO event VALUES (57, 'checkpoint:resolved', 1, 'checkpoint/k-209x1sg', 56, '2026-11-17T18:07:47.087Z', 'person:anna', '{"who":"person:anna","answer":"blue"}', NULL, NULL, NULL, '01m7nb33cgmy6khekpdj3fkqx7', 0);
INSERT INTO event VALUES (58, 'message:sent', 1, 'message/m-gjc9yck', 0, '2026-11-17T18:07:47.087Z', 'person:anna', '{"kind":"checkpoint","sender":"person:anna","to":["Bob"],"wants":"nothing","text":"blue\n\nThat answers k-209x1sg: Which colour?","task":"task-003"}', NULL, 'k-209x1sg', NULL, '01m7nb33cgmy6khekpdj3fkqx7', 1);
INSERT INTO event VALUES (59, 'checkpoint:reached', 1, 'checkpoint/k-096xahp', 0, '2026-11-17T18:07:47.382Z', 'Bob#1', '{"who":"Bob#1","kind":"human-verify","question":"Withdrawn?"}', NULL, NULL, NULL, '01m7nb33nqv4a5h0beef5wp1s1', 0);
INSERT INTO event VALUES (60, 'checkpoint:withdrawn', 1, 'checkpoint/k-096xahp', 59, '2026-11-17T18:07:47.981Z', 'Bob#1', '{"who":"Bob#1","reason":"no"}', NULL, NULL, NULL, '01m7nb348e8d5dadzfntsv5bpw', 0);
INSERT INTO event VALUES (61, 'receipt:recorded', 1, 'receipt/r-8pd7hjc', 0, '2026-11-17T18:07:48.517Z', 'Bob#1', '{"by":"Bob#1","argv":["true"],"code":0,"seconds":0.002,"digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0,"tree":"git:d9fe7fbf099130a6bed4a2dc191f4259db6b2ac5","commit":"3121a20ca38eadf8d5482cc3f3a3862f4809787a","dirty":true,"worktree":"/home/anna/work","directory":"/home/anna/work"}', NULL, NULL, NULL, '01m7nb34s5r38vx2xczpq19wcc', 0);
INSERT INTO event VALUES (62, 'task:started', 1, 'task/task-001', 17, '2026-11-17T18:07:48.866Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":2,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb354828233j1bfjdy9cvc', 0);
INSERT INTO event VALUES (63, 'message:sent', 1, 'message/m-0zt64a1', 0, '2026-11-17T18:07:48.866Z', 'Bob#1', '{"kind":"decision","sender":"Ada#1","to":["Bob"],"wants":"nothing","text":"Use spaces\n\nd-gz1yycg, concerns task-*, src/**"}', NULL, 'd-gz1yycg', NULL, '01m7nb354828233j1bfjdy9cvc', 1);
INSERT INTO event VALUES (64, 'receipt:recorded', 1, 'receipt/r-p89bfve', 0, '2026-11-17T18:07:49.353Z', 'Bob#1', '{"by":"Bob#1","argv":["true"],"code":0,"seconds":0.001,"digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0,"tree":"git:d9fe7fbf099130a6bed4a2dc191f4259db6b2ac5","commit":"3121a20ca38eadf8d5482cc3f3a3862f4809787a","dirty":true,"worktree":"/home/anna/work","directory":"/home/anna/work","task":"task-001"}', NULL, NULL, NULL, '01m7nb35k9arwmmcp20tb2zd7e', 0);
INSERT INTO event VALUES (65, 'task:submitted', 1, 'task/task-001', 62, '2026-11-17T18:07:49.640Z', 'Bob#1', '{"verb":"submit","source":"working","target":"review","phase":"review","attempt":2,"author":"Bob#1"}', NULL, NULL, NULL, '01m7nb35wdxzwebjp2p6xjbbw5', 0);
INSERT INTO event VALUES (66, 'task:approved', 1, 'task/task-001', 65, '2026-11-17T18:07:50.004Z', 'Ada#1', '{"verb":"approve","source":"review","target":"done","phase":"done","attempt":2,"role":"reviewer"}', NULL, NULL, NULL, '01m7nb367mssvkzbg4br2wkw21', 0);
INSERT INTO event VALUES (67, 'task:readied', 1, 'task/task-002', 23, '2026-11-17T18:07:50.004Z', 'Ada#1', '{"done":"task-001"}', NULL, NULL, NULL, '01m7nb367mssvkzbg4br2wkw21', 1);
INSERT INTO event VALUES (68, 'message:offered', 1, 'mailbox/bob', 31, '2026-11-17T18:07:50.418Z', 'Bob#1', '{"ids":["m-n82qd6r","m-d50fyhy","m-gjc9yck","m-0zt64a1"],"to":"Bob#1"}', NULL, NULL, NULL, '01m7nb36mj4x21fn9jm8f19z3b', 0);
INSERT INTO event VALUES (69, 'message:acked', 1, 'mailbox/bob', 68, '2026-11-17T18:07:50.695Z', 'Bob#1', '{"ids":["m-0zt64a1"],"who":"Bob#1","read_at":"2026-11-17T18:07:50.695Z"}', NULL, NULL, NULL, '01m7nb36xazkqv3t46qx78d0f6', 0);
INSERT INTO event VALUES (70, 'message:sent', 1, 'message/m-j5jcx8r', 0, '2026-11-17T18:07:51.088Z', 'Ada#1', '{"kind":"request","sender":"Ada#1","to":["Bob"],"wants":"answer","text":"soon gone","expires":0.01}', NULL, 'm-j5jcx8r', NULL, '01m7nb379g9zbt5gja4ha21z17', 0);
INSERT INTO event VALUES (71, 'message:expired', 1, 'mailbox/bob', 69, '2026-11-17T18:07:51.457Z', 'Bob#1', '{"ids":["m-j5jcx8r"]}', NULL, NULL, NULL, '01m7nb37n1xtp63jjjdwvkqh2c', 0);
INSERT INTO event VALUES (72, 'agent:joined', 1, 'agent/dot', 0, '2026-11-17T18:07:51.793Z', 'Dot#1', '{"name":"Dot","incarnation":1,"worktree":"."}', NULL, NULL, NULL, '01m7nb37zjeqt896479w1a0g4b', 0);
INSERT INTO event VALUES (73, 'message:sent', 1, 'message/m-w41cnzf', 0, '2026-11-17T18:07:52.163Z', 'person:anna', '{"kind":"request","sender":"person:anna","to":["Dot"],"wants":"answer","text":"never read"}', NULL, 'm-w41cnzf', NULL, '01m7nb38b34b9v13mr1j1hzphr', 0);
INSERT INTO event VALUES (74, 'agent:left', 1, 'agent/dot', 72, '2026-11-17T18:07:52.391Z', 'person:anna', '{"incarnation":1,"retired":true}', NULL, NULL, NULL, '01m7nb38j8sj1z63b1jfevmt9d', 0);
INSERT INTO event VALUES (75, 'message:dead', 1, 'mailbox/dot', 0, '2026-11-17T18:07:52.391Z', 'person:anna', '{"ids":["m-w41cnzf"],"reason":"Dot retired"}', NULL, NULL, NULL, '01m7nb38j8sj1z63b1jfevmt9d', 1);
INSERT INTO event VALUES (76, 'task:added', 1, 'task/lapse-1', 0, '2026-11-17T18:07:52.592Z', 'Ada#1', '{"title":"To lapse","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0}', NULL, NULL, NULL, '01m7nb38rggbd48vrz4gbqaqf1', 0);
INSERT INTO event VALUES (77, 'task:started', 1, 'task/lapse-1', 76, '2026-11-17T18:07:52.960Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nb3948fbdf1hn7t87k62dc', 0);
INSERT INTO event VALUES (78, 'file:claimed', 1, 'claims', 40, '2026-11-17T18:07:53.478Z', 'Bob#1', '{"id":"c-bxf87n6","holder":"Bob#1","paths":["lapsing.py"],"mode":"exclusive","ttl":1800.0}', NULL, NULL, NULL, '01m7nb39mdxb8f0h28h41sbeg7', 0);
INSERT INTO event VALUES (79, 'agent:joined', 1, 'agent/bob', 2, '2026-11-17T18:07:53.877Z', 'Bob#2', '{"name":"Bob","incarnation":2,"roles":["developer"],"worktree":".","replaces":1}', NULL, NULL, NULL, '01m7nb3a0pp8je7agf3xpwv42w', 0);
INSERT INTO event VALUES (80, 'task:lapsed', 1, 'task/lapse-1', 77, '2026-11-17T18:07:53.877Z', 'Bob#2', '{"verb":"lapse","source":"working","target":"open","phase":"open","attempt":2,"reason":"replaced by Bob#2","silent_for":0.0,"ttl":0.0}', NULL, NULL, NULL, '01m7nb3a0pp8je7agf3xpwv42w', 1);
INSERT INTO event VALUES (81, 'file:lapsed', 1, 'claims', 78, '2026-11-17T18:07:53.877Z', 'Bob#2', '{"id":"c-f3k0zdv","holder":"Bob#1","paths":["x[0-9].txt","x[[]0-9].txt"],"ttl":60.0,"reason":"replaced"}', NULL, NULL, NULL, '01m7nb3a0pp8je7agf3xpwv42w', 2);
INSERT INTO event VALUES (82, 'file:lapsed', 1, 'claims', 81, '2026-11-17T18:07:53.877Z', 'Bob#2', '{"id":"c-bxf87n6","holder":"Bob#1","paths":["lapsing.py"],"ttl":1800.0,"reason":"replaced"}', NULL, NULL, NULL, '01m7nb3a0pp8je7agf3xpwv42w', 3);
INSERT INTO event VALUES (83, 'build:finished', 1, 'topic/build', 0, '2026-11-17T18:07:54.287Z', 'Ada#1', '{"n":1,"deep":{"list":[1,"two",null]}}', NULL, NULL, NULL, '01m7nb3adfkhzk85nsagbbc6r4', 0);
INSERT INTO event VALUES (84, 'effect:requested', 1, 'effect/e-ach7r73txj', 0, '2026-11-17T18:07:54.287Z', 'Ada#1', '{"handler":"tell","n":0,"on":"build:finished","stream":"topic/build"}', NULL, NULL, NULL, '01m7nb3adfkhzk85nsagbbc6r4', 1);
INSERT INTO event VALUES (85, 'cache:warmed', 1, 'topic/nightly', 0, '2026-11-17T18:07:54.777Z', 'person:anna', '{}', NULL, NULL, NULL, '01m7nb3awsk5pxngvgxhtryq6g', 0);
INSERT INTO event VALUES (86, 'effect:requested', 1, 'effect/e-31zy7fmn55', 0, '2026-11-17T18:07:54.777Z', 'person:anna', '{"handler":"far","n":0,"on":"cache:warmed","stream":"topic/nightly"}', NULL, NULL, NULL, '01m7nb3awsk5pxngvgxhtryq6g', 1);
INSERT INTO event VALUES (87, 'effect:taken', 1, 'effect/e-ach7r73txj', 84, '2026-11-17T18:07:55.328Z', 'person:anna', '{"runner":"runner-6xyq87br#30000","attempt":1,"ttl":90.0}', NULL, NULL, NULL, '01m7nb3be22p8x0mpag6p9182k', 0);
INSERT INTO event VALUES (88, 'message:sent', 1, 'message/m-1s8dz95', 0, '2026-11-17T18:07:55.328Z', 'person:anna', '{"kind":"note","sender":"moot","to":["Bob"],"wants":"nothing","text":"build:finished"}', NULL, 'm-1s8dz95', NULL, '01m7nb3be22p8x0mpag6p9182k', 1);
INSERT INTO event VALUES (89, 'effect:done', 1, 'effect/e-ach7r73txj', 87, '2026-11-17T18:07:55.328Z', 'person:anna', '{"attempt":1}', NULL, NULL, NULL, '01m7nb3be22p8x0mpag6p9182k', 2);
INSERT INTO event VALUES (90, 'cache:warmed', 1, 'topic/cache', 0, '2026-11-17T18:07:56.410Z', 'person:anna', '{}', NULL, NULL, NULL, '01m7nb3cfva6nbydh3cx2hg9yt', 0);
INSERT INTO event VALUES (91, 'effect:requested', 1, 'effect/e-v4zagsgpfq', 0, '2026-11-17T18:07:56.410Z', 'person:anna', '{"handler":"far","n":0,"on":"cache:warmed","stream":"topic/cache"}', NULL, NULL, NULL, '01m7nb3cfva6nbydh3cx2hg9yt', 1);
INSERT INTO event VALUES (92, 'cache:cooled', 1, 'topic/cache', 90, '2026-11-17T18:07:56.914Z', 'person:anna', '{}', NULL, NULL, NULL, '01m7nb3czjv0aeha3g89pgnz44', 0);
INSERT INTO event VALUES (93, 'effect:requested', 1, 'effect/e-m677cy6qxa', 0, '2026-11-17T18:07:56.914Z', 'person:anna', '{"handler":"far","n":0,"on":"cache:cooled","stream":"topic/cache"}', NULL, NULL, NULL, '01m7nb3czjv0aeha3g89pgnz44', 1);
INSERT INTO event VALUES (94, 'effect:retried', 1, 'effect/e-31zy7fmn55', 86, '2026-11-17T18:07:58.524Z', 'person:anna', '{}', NULL, NULL, NULL, '01m7nb3ehypcaaxzb00ktb0jzq', 0);
INSERT INTO event VALUES (95, 'effect:dropped', 1, 'effect/e-31zy7fmn55', 94, '2026-11-17T18:07:58.872Z', 'person:anna', '{"reason":"no"}', NULL, NULL, NULL, '01m7nb3ewz25pnq9svjy8r1f2h', 0);
INSERT INTO event VALUES (96, 'task:added', 1, 'task/task-050', 0, '2026-11-17T18:07:59.167Z', 'Ada#1', '{"title":"Build it","state":"pending","phase":"open","lifecycle":"orchestrator","creator":"Ada#1","ttl":1800.0,"extra":{"platform":"web"}}', NULL, NULL, NULL, '01m7nb3f67gnhyzz4atgj0xgrq', 0);
INSERT INTO event VALUES (97, 'task:started', 1, 'task/task-050', 96, '2026-11-17T18:07:59.167Z', 'Ada#1', '{"verb":"claim","source":"pending","target":"in_progress","phase":"working","attempt":1,"holder":"Ada#1","role":"team-lead"}', NULL, NULL, NULL, '01m7nb3f67gnhyzz4atgj0xgrq', 1);
INSERT INTO event VALUES (98, 'message:sent', 1, 'message/m-gety3ad', 0, '2026-11-17T18:07:59.167Z', 'Ada#1', '{"kind":"task_assignment","sender":"Ada#1","to":["@developer"],"wants":"ack","data":{"type":"task_assignment","taskId":"task-050","platform":"web","title":"Build it","instructions":"As described.","filesToCreate":["a.py"],"architecture":"One.","timestamp":"2031-05-08T09:30:00Z"},"task":"task-050","attempt":1,"role":"team-lead","flags":["clock_differs: the sender''s timestamp lies 1633 days after the arrival"]}', NULL, 'm-gety3ad', 'orchestrator', '01m7nb3f67gnhyzz4atgj0xgrq', 2);
INSERT INTO event VALUES (99, 'entry:held', 1, 'entry/h-jqpfmny', 0, '2026-11-17T18:07:59.424Z', 'role:team-lead', '{"path":".claude-orchestrator/tasks/messages/to-developer.json","mirror":"to-developer","raw":"{\"type\": \"task_assignment\", \"taskId\": \"task-051\"}","code":"bad_message","reason":"The task_assignment has 6 defects: platform: expected one of web, android, ios, custom, found nothing; title: expected a non-empty string, found nothing; instructions: expected a non-empty string, found nothing; filesToCreate: expected a list, each a non-empty string, found nothing; architecture: expected a non-empty string, found nothing; timestamp: expected an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z, found nothing. Correct all of them and send it again; `--dry-run` checks without sending.","defects":[{"path":"platform","expected":"one of web, android, ios, custom","found":"nothing"},{"path":"title","expected":"a non-empty string","found":"nothing"},{"path":"instructions","expected":"a non-empty string","found":"nothing"},{"path":"filesToCreate","expected":"a list, each a non-empty string","found":"nothing"},{"path":"architecture","expected":"a non-empty string","found":"nothing"},{"path":"timestamp","expected":"an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z","found":"nothing"}],"task":"task-051"}', NULL, NULL, NULL, '01m7nb3fe08tdyr47059qa8dwd', 0);
INSERT INTO event VALUES (100, 'message:sent', 1, 'message/m-4n10t6a', 0, '2026-11-17T18:07:59.424Z', 'role:team-lead', '{"kind":"note","sender":"moot","to":["@developer"],"wants":"nothing","text":"An entry of .claude-orchestrator/tasks/messages/to-developer.json is held as h-jqpfmny: The task_assignment has 6 defects: platform: expected one of web, android, ios, custom, found nothing; title: expected a non-empty string, found nothing; instructions: expected a non-empty string, found nothing; filesToCreate: expected a list, each a non-empty string, found nothing; architecture: expected a non-empty string, found nothing; timestamp: expected an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z, found nothing. Correct all of them and send it again; `--dry-run` checks without sending."}', NULL, 'm-4n10t6a', NULL, '01m7nb3fe08tdyr47059qa8dwd', 1);
INSERT INTO event VALUES (101, 'task:added', 1, 'task/task/../x', 0, '2026-11-17T18:07:59.432Z', 'role:team-lead', '{"title":"Build it","state":"pending","phase":"open","lifecycle":"orchestrator","creator":"role:team-lead","ttl":1800.0,"extra":{"platform":"web"}}', NULL, NULL, NULL, '01m7nb3fec4pt18927rfvd8fca', 0);
INSERT INTO event VALUES (102, 'task:started', 1, 'task/task/../x', 101, '2026-11-17T18:07:59.432Z', 'role:team-lead', '{"verb":"claim","source":"pending","target":"in_progress","phase":"working","attempt":1,"holder":"role:team-lead","role":"team-lead"}', NULL, NULL, NULL, '01m7nb3fec4pt18927rfvd8fca', 1);
INSERT INTO event VALUES (103, 'message:sent', 1, 'message/m-sc7s90v', 0, '2026-11-17T18:07:59.432Z', 'role:team-lead', '{"kind":"task_assignment","sender":"role:team-lead","to":["@developer"],"wants":"ack","data":{"type":"task_assignment","taskId":"task/../x","platform":"web","title":"Build it","instructions":"As.","filesToCreate":["a.py"],"architecture":"One.","timestamp":"2031-05-08T09:31:00Z"},"task":"task/../x","attempt":1,"role":"team-lead","source":".claude-orchestrator/tasks/messages/to-developer.json","flags":["clock_differs: the sender''s timestamp lies 1633 days after the arrival"]}', NULL, 'm-sc7s90v', 'orchestrator', '01m7nb3fec4pt18927rfvd8fca', 2);
INSERT INTO event VALUES (104, 'entry:dropped', 1, 'entry/h-jqpfmny', 99, '2026-11-17T18:08:00.024Z', 'person:anna', '{"reason":"no"}', NULL, NULL, NULL, '01m7nb3g0ra2pey09x4ahmpmxf', 0);
INSERT INTO event VALUES (105, 'event:redacted', 1, 'redactions', 0, '2026-11-17T18:08:00.759Z', 'person:anna', '{"position":20,"commit":"01m7nb2x09hxztk94twht8y4p3","n":0,"digest":"93c53d53a3e4b79820d79e74e414560912b1120a1a816e27e3fc4df4a1da2d94","fields":["reason"],"reason":"secret"}', NULL, NULL, NULL, '01m7nb3gqy0rzz64zh0m3fqdm2', 0);
INSERT INTO commits VALUES ('01m7nb2snvfdh13b16f643a2hh', 1, 1);
INSERT INTO commits VALUES ('01m7nb2svntjyw6fcwzcx99zt4', 2, 2);
INSERT INTO commits VALUES ('01m7nb2t2dnqraqske579kk9x8', 3, 3);
INSERT INTO commits VALUES ('01m7nb2t8h77evn0s9gpk0sbgr', 4, 4);
INSERT INTO commits VALUES ('01m7nb2tf32xp8x8x9ezt6fzkf', 5, 5);
INSERT INTO commits VALUES ('01m7nb2tp7e41qg6z5rg222jwb', 6, 6);
INSERT INTO commits VALUES ('01m7nb2tvcrhadrxg3y0mmdhaw', 7, 7);
INSERT INTO commits VALUES ('01m7nb2v15f4z0vaxe2srtd41j', 8, 9);
INSERT INTO commits VALUES ('01m7nb2v8jdcxmysvx7hjfzd4z', 10, 10);
INSERT INTO commits VALUES ('01m7nb2vewb0hetmxgevc9bn27', 11, 11);
INSERT INTO commits VALUES ('01m7nb2vnpdvjr87t8p9vfbnkr', 12, 12);
INSERT INTO commits VALUES ('01m7nb2vwy5wrw57be10554qfb', 13, 13);
INSERT INTO commits VALUES ('01m7nb2w3axyy8vdvecbgd3fc2', 14, 14);
INSERT INTO commits VALUES ('01m7nb2w835n676j13jdyyh34e', 15, 15);
INSERT INTO commits VALUES ('01m7nb2wcvpxnrnrp2pzyc701s', 16, 16);
INSERT INTO commits VALUES ('01m7nb2whcq8mc1jkewy12zvjq', 17, 17);
INSERT INTO commits VALUES ('01m7nb2wpewchmeekjjfpcz6nr', 18, 18);
INSERT INTO commits VALUES ('01m7nb2wvpd6sq82meq597n3m3', 19, 19);
INSERT INTO commits VALUES ('01m7nb2x09hxztk94twht8y4p3', 20, 20);
INSERT INTO commits VALUES ('01m7nb2x4qsg8k5wd4pw26z1be', 21, 21);
INSERT INTO commits VALUES ('01m7nb2x96t7rfthncbz927qt2', 22, 22);
INSERT INTO commits VALUES ('01m7nb2xdkgs0960bk22krn040', 23, 23);
INSERT INTO commits VALUES ('01m7nb2xj7vzx7pdg14fpnrhgn', 24, 25);
INSERT INTO commits VALUES ('01m7nb2xpn0csdg5vy3khzkmsm', 26, 27);
INSERT INTO commits VALUES ('01m7nb2xtzd9v94b9zry1vh3xj', 28, 28);
INSERT INTO commits VALUES ('01m7nb2xzafz4sbtfygvyy282g', 29, 29);
INSERT INTO commits VALUES ('01m7nb2y85h34jyd44sq6nk9bt', 30, 31);
INSERT INTO commits VALUES ('01m7nb2ycv900hn6kezrf1rn8m', 32, 32);
INSERT INTO commits VALUES ('01m7nb2yhfq766cptb7nyxyjyf', 33, 33);
INSERT INTO commits VALUES ('01m7nb2yptvr0bfqkvaze1fz3g', 34, 34);
INSERT INTO commits VALUES ('01m7nb2yzvcym201d4qmx81dhv', 35, 35);
INSERT INTO commits VALUES ('01m7nb2zc7zer1zygc3mpc6a3p', 36, 36);
INSERT INTO commits VALUES ('01m7nb2zhzx8n5z54d9639dk41', 37, 37);
INSERT INTO commits VALUES ('01m7nb2zth9jyjztef2twmgj2e', 38, 38);
INSERT INTO commits VALUES ('01m7nb3003j8bb15a0fcqp5hcd', 39, 39);
INSERT INTO commits VALUES ('01m7nb3063rkpv1gs5ndj71080', 40, 40);
INSERT INTO commits VALUES ('01m7nb30cnt988fmq921jgc9mc', 41, 43);
INSERT INTO commits VALUES ('01m7nb30keka60286wcafcw2bd', 44, 44);
INSERT INTO commits VALUES ('01m7nb30vybxx2ak94c4nkqpba', 45, 49);
INSERT INTO commits VALUES ('01m7nb3147c3a2hawbhjw1e916', 50, 50);
INSERT INTO commits VALUES ('01m7nb31agmh6k7m0e20yxz70e', 51, 51);
INSERT INTO commits VALUES ('01m7nb31h16f521fg0qbrhsrn3', 52, 52);
INSERT INTO commits VALUES ('01m7nb31r4vx5s4cxvrgd1tvgv', 53, 53);
INSERT INTO commits VALUES ('01m7nb3205m05ybqbjspbe9kv7', 54, 54);
INSERT INTO commits VALUES ('01m7nb32j8sb3g4q5ryhynm15w', 55, 55);
INSERT INTO commits VALUES ('01m7nb32vma2g81sy05aexb8h5', 56, 56);
INSERT INTO commits VALUES ('01m7nb33cgmy6khekpdj3fkqx7', 57, 58);
INSERT INTO commits VALUES ('01m7nb33nqv4a5h0beef5wp1s1', 59, 59);
INSERT INTO commits VALUES ('01m7nb348e8d5dadzfntsv5bpw', 60, 60);
INSERT INTO commits VALUES ('01m7nb34s5r38vx2xczpq19wcc', 61, 61);
INSERT INTO commits VALUES ('01m7nb354828233j1bfjdy9cvc', 62, 63);
INSERT INTO commits VALUES ('01m7nb35k9arwmmcp20tb2zd7e', 64, 64);
INSERT INTO commits VALUES ('01m7nb35wdxzwebjp2p6xjbbw5', 65, 65);
INSERT INTO commits VALUES ('01m7nb367mssvkzbg4br2wkw21', 66, 67);
INSERT INTO commits VALUES ('01m7nb36mj4x21fn9jm8f19z3b', 68, 68);
INSERT INTO commits VALUES ('01m7nb36xazkqv3t46qx78d0f6', 69, 69);
INSERT INTO commits VALUES ('01m7nb379g9zbt5gja4ha21z17', 70, 70);
INSERT INTO commits VALUES ('01m7nb37n1xtp63jjjdwvkqh2c', 71, 71);
INSERT INTO commits VALUES ('01m7nb37zjeqt896479w1a0g4b', 72, 72);
INSERT INTO commits VALUES ('01m7nb38b34b9v13mr1j1hzphr', 73, 73);
INSERT INTO commits VALUES ('01m7nb38j8sj1z63b1jfevmt9d', 74, 75);
INSERT INTO commits VALUES ('01m7nb38rggbd48vrz4gbqaqf1', 76, 76);
INSERT INTO commits VALUES ('01m7nb3948fbdf1hn7t87k62dc', 77, 77);
INSERT INTO commits VALUES ('01m7nb39mdxb8f0h28h41sbeg7', 78, 78);
INSERT INTO commits VALUES ('01m7nb3a0pp8je7agf3xpwv42w', 79, 82);
INSERT INTO commits VALUES ('01m7nb3adfkhzk85nsagbbc6r4', 83, 84);
INSERT INTO commits VALUES ('01m7nb3awsk5pxngvgxhtryq6g', 85, 86);
INSERT INTO commits VALUES ('01m7nb3be22p8x0mpag6p9182k', 87, 89);
INSERT INTO commits VALUES ('01m7nb3cfva6nbydh3cx2hg9yt', 90, 91);
INSERT INTO commits VALUES ('01m7nb3czjv0aeha3g89pgnz44', 92, 93);
INSERT INTO commits VALUES ('01m7nb3ehypcaaxzb00ktb0jzq', 94, 94);
INSERT INTO commits VALUES ('01m7nb3ewz25pnq9svjy8r1f2h', 95, 95);
INSERT INTO commits VALUES ('01m7nb3f67gnhyzz4atgj0xgrq', 96, 98);
INSERT INTO commits VALUES ('01m7nb3fe08tdyr47059qa8dwd', 99, 100);
INSERT INTO commits VALUES ('01m7nb3fec4pt18927rfvd8fca', 101, 103);
INSERT INTO commits VALUES ('01m7nb3g0ra2pey09x4ahmpmxf', 104, 104);
INSERT INTO commits VALUES ('01m7nb3gqy0rzz64zh0m3fqdm2', 105, 105);
INSERT INTO meta VALUES ('workspace', 'd45b78d490c131b4795057f98ecd2310');
CREATE UNIQUE INDEX event_follows ON event (stream, prev);
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

PRAGMA user_version = 1;
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
INSERT INTO event VALUES (1, 'agent:joined', 1, 'agent/ada', 0, '2026-11-17T18:03:54.869Z', 'Ada#1', '{"name":"Ada","incarnation":1,"roles":["reviewer","team-lead"],"worktree":"."}', NULL, NULL, NULL, '01m7naw0kpb5kt4e5p8wjbcj4p', 0);
INSERT INTO event VALUES (2, 'agent:joined', 1, 'agent/bob', 0, '2026-11-17T18:03:55.178Z', 'Bob#1', '{"name":"Bob","incarnation":1,"roles":["developer"],"worktree":"."}', NULL, NULL, NULL, '01m7naw0xa5w0a9370kraq0hjt', 0);
INSERT INTO event VALUES (3, 'agent:joined', 1, 'agent/cyd', 0, '2026-11-17T18:03:55.455Z', 'Cyd#1', '{"name":"Cyd","incarnation":1,"worktree":"."}', NULL, NULL, NULL, '01m7naw15z19aj0nwpzjmt3ptd', 0);
INSERT INTO event VALUES (4, 'agent:left', 1, 'agent/cyd', 3, '2026-11-17T18:03:55.692Z', 'Cyd#1', '{"incarnation":1}', NULL, NULL, NULL, '01m7naw1dcyaaref6cf3efhxzy', 0);
INSERT INTO event VALUES (5, 'agent:joined', 1, 'agent/cyd', 4, '2026-11-17T18:03:55.896Z', 'Cyd#2', '{"name":"Cyd","incarnation":2,"worktree":"."}', NULL, NULL, NULL, '01m7naw1kr7g2hng4fptwab6mf', 0);
INSERT INTO event VALUES (6, 'agent:left', 1, 'agent/cyd', 5, '2026-11-17T18:03:56.131Z', 'person:anna', '{"incarnation":2,"retired":true}', NULL, NULL, NULL, '01m7naw1v30xv0vd199qwe3gb9', 0);
INSERT INTO event VALUES (7, 'task:added', 1, 'task/task-001', 0, '2026-11-17T18:03:56.411Z', 'Ada#1', '{"title":"Write it","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","priority":"high","ttl":1800.0}', NULL, NULL, NULL, '01m7naw23vafxy4q59qgz14r08', 0);
INSERT INTO event VALUES (8, 'task:added', 1, 'task/task-002', 0, '2026-11-17T18:03:56.674Z', 'Ada#1', '{"title":"Test it","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0,"needs":["task-001"],"waits":["task-001"]}', NULL, NULL, NULL, '01m7naw2c3c0xkaw8hra25jzgw', 0);
INSERT INTO event VALUES (9, 'graph:linked', 1, 'graph', 0, '2026-11-17T18:03:56.674Z', 'Ada#1', '{"task":"task-002","needs":["task-001"]}', NULL, NULL, NULL, '01m7naw2c3c0xkaw8hra25jzgw', 1);
INSERT INTO event VALUES (10, 'task:added', 1, 'task/task-003', 0, '2026-11-17T18:03:56.929Z', 'Ada#1', '{"title":"Hold it","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0}', NULL, NULL, NULL, '01m7naw2m1hsm8x76xfqd5crxb', 0);
INSERT INTO event VALUES (11, 'task:added', 1, 'task/X y;$(z)', 0, '2026-11-17T18:03:57.251Z', 'Ada#1', '{"title":"odd id","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0}', NULL, NULL, NULL, '01m7naw2y3gafjj86jckqfhgm2', 0);
INSERT INTO event VALUES (12, 'task:added', 1, 'task/task-004', 0, '2026-11-17T18:03:57.463Z', 'Ada#1', '{"title":"No review","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","review":false,"ttl":1800.0}', NULL, NULL, NULL, '01m7naw34qsxethn8rgfmf9pk0', 0);
INSERT INTO event VALUES (13, 'task:started', 1, 'task/task-001', 7, '2026-11-17T18:03:57.738Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7naw3da3yjb4jjw6qtzbbyz', 0);
INSERT INTO event VALUES (14, 'task:submitted', 1, 'task/task-001', 13, '2026-11-17T18:03:57.946Z', 'Bob#1', '{"verb":"submit","source":"working","target":"review","phase":"review","attempt":1,"author":"Bob#1"}', NULL, NULL, NULL, '01m7naw3kt96px3hk43bs64n8j', 0);
INSERT INTO event VALUES (15, 'task:rejected', 1, 'task/task-001', 14, '2026-11-17T18:03:58.169Z', 'Ada#1', '{"verb":"reject","source":"review","target":"open","phase":"open","attempt":2,"role":"reviewer","reason":"no"}', NULL, NULL, NULL, '01m7naw3ts3ctm52sqf7s7b3nk', 0);
INSERT INTO event VALUES (16, 'task:started', 1, 'task/task-001', 15, '2026-11-17T18:03:58.398Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":2,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7naw41yq4cz9rfb7jw441j9', 0);
INSERT INTO event VALUES (17, 'task:released', 1, 'task/task-001', 16, '2026-11-17T18:03:58.619Z', 'Bob#1', '{"verb":"release","source":"working","target":"open","phase":"open","attempt":2}', NULL, NULL, NULL, '01m7naw48vgkretwhfrx7j458n', 0);
INSERT INTO event VALUES (18, 'task:started', 1, 'task/task-003', 10, '2026-11-17T18:03:58.881Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7naw4h21p7bzbyg5vbqnt5s', 0);
INSERT INTO event VALUES (19, 'task:failed', 1, 'task/task-003', 18, '2026-11-17T18:03:59.102Z', 'Bob#1', '{"verb":"fail","source":"working","target":"failed","phase":"stopped","attempt":1,"reason":"bad"}', NULL, NULL, NULL, '01m7naw4qysg55rp3frwrjstgh', 0);
INSERT INTO event VALUES (20, 'task:reopened', 1, 'task/task-003', 19, '2026-11-17T18:03:59.320Z', 'Ada#1', '{"verb":"reopen","source":"failed","target":"open","phase":"open","attempt":2,"reason":"again"}', NULL, NULL, NULL, '01m7naw4yrb53j63kapp0ebvn3', 0);
INSERT INTO event VALUES (21, 'task:started', 1, 'task/task-004', 12, '2026-11-17T18:03:59.557Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7naw569meb2tq8n8fyr4y6v', 0);
INSERT INTO event VALUES (22, 'task:completed', 1, 'task/task-004', 21, '2026-11-17T18:03:59.781Z', 'Bob#1', '{"verb":"complete","source":"working","target":"done","phase":"done","attempt":1}', NULL, NULL, NULL, '01m7naw5d6d25r79xbnsp5tczq', 0);
INSERT INTO event VALUES (23, 'task:cancelled', 1, 'task/task-002', 8, '2026-11-17T18:04:00.038Z', 'Ada#1', '{"verb":"cancel","source":"open","target":"cancelled","phase":"stopped","attempt":1,"role":"creator","reason":"not needed"}', NULL, NULL, NULL, '01m7naw5n6ca8e9cgj1ykknk0v', 0);
INSERT INTO event VALUES (24, 'graph:linked', 1, 'graph', 9, '2026-11-17T18:04:00.270Z', 'Ada#1', '{"task":"task-003","needs":["task-001"]}', NULL, NULL, NULL, '01m7naw5wftg9c3g7b7zcvzwnt', 0);
INSERT INTO event VALUES (25, 'task:blocked', 1, 'task/task-003', 20, '2026-11-17T18:04:00.270Z', 'Ada#1', '{"on":["task-001"]}', NULL, NULL, NULL, '01m7naw5wftg9c3g7b7zcvzwnt', 1);
INSERT INTO event VALUES (26, 'graph:unlinked', 1, 'graph', 24, '2026-11-17T18:04:00.526Z', 'Ada#1', '{"task":"task-003","needs":["task-001"]}', NULL, NULL, NULL, '01m7naw64esyh7rpe8vb4x22gt', 0);
INSERT INTO event VALUES (27, 'task:readied', 1, 'task/task-003', 25, '2026-11-17T18:04:00.526Z', 'Ada#1', '{"done":"task-001"}', NULL, NULL, NULL, '01m7naw64esyh7rpe8vb4x22gt', 1);
INSERT INTO event VALUES (28, 'message:sent', 1, 'message/m-y7a388m', 0, '2026-11-17T18:04:00.722Z', 'Ada#1', '{"kind":"request","sender":"Ada#1","to":["Bob"],"wants":"answer","text":"Please look","within":100.0}', NULL, 'm-y7a388m', NULL, '01m7naw6ajrx6d4ncxdd07mjg0', 0);
INSERT INTO event VALUES (29, 'message:offered', 1, 'mailbox/bob', 0, '2026-11-17T18:04:00.939Z', 'Bob#1', '{"ids":["m-y7a388m"],"to":"Bob#1"}', NULL, NULL, NULL, '01m7naw6hcn3q8ppz8txhqb5zz', 0);
INSERT INTO event VALUES (30, 'message:sent', 1, 'message/m-8xwde1r', 0, '2026-11-17T18:04:01.455Z', 'Bob#1', '{"kind":"reply","sender":"Bob#1","to":["Ada"],"wants":"nothing","text":"done","reply_to":"m-y7a388m"}', NULL, 'm-y7a388m', NULL, '01m7naw71fmrqewdyymb4nvm6s', 0);
INSERT INTO event VALUES (31, 'message:answered', 1, 'mailbox/bob', 29, '2026-11-17T18:04:01.455Z', 'Bob#1', '{"id":"m-y7a388m","reply":"m-8xwde1r","who":"Bob#1"}', NULL, NULL, NULL, '01m7naw71fmrqewdyymb4nvm6s', 1);
INSERT INTO event VALUES (32, 'message:sent', 1, 'message/m-b13jvz2', 0, '2026-11-17T18:04:01.695Z', 'Bob#1', '{"kind":"note","sender":"Bob#1","to":["Ada"],"wants":"nothing","text":"hello"}', NULL, 'm-b13jvz2', NULL, '01m7naw78zx564c7rghmatmve2', 0);
INSERT INTO event VALUES (33, 'message:offered', 1, 'mailbox/ada', 0, '2026-11-17T18:04:01.940Z', 'Ada#1', '{"ids":["m-8xwde1r","m-b13jvz2"],"to":"Ada#1"}', NULL, NULL, NULL, '01m7naw7gmmf7swhaj59caxa83', 0);
INSERT INTO event VALUES (34, 'message:sent', 1, 'message/m-xy7vcsw', 0, '2026-11-17T18:04:02.188Z', 'Ada#1', '{"kind":"note","sender":"Ada#1","to":["Bob"],"wants":"nothing","text":"to all"}', NULL, 'm-xy7vcsw', NULL, '01m7naw7rd17tsa54w3hd3tzmy', 0);
INSERT INTO event VALUES (35, 'message:sent', 1, 'message/m-t129n7c', 0, '2026-11-17T18:04:02.425Z', 'person:anna', '{"kind":"note","sender":"person:anna","to":["Ada"],"wants":"nothing","text":"from a person"}', NULL, 'm-t129n7c', NULL, '01m7naw7ztgb61fxjt8e6t63xk', 0);
INSERT INTO event VALUES (36, 'file:claimed', 1, 'claims', 0, '2026-11-17T18:04:02.890Z', 'Bob#1', '{"id":"c-eh932h4","holder":"Bob#1","paths":["src/b.py","lib/**"],"mode":"exclusive","ttl":1800.0,"reason":"grammar"}', NULL, NULL, NULL, '01m7naw8ea6p2cc1qsk8ef1fy5', 0);
INSERT INTO event VALUES (37, 'file:claimed', 1, 'claims', 36, '2026-11-17T18:04:03.151Z', 'Ada#1', '{"id":"c-mg3xkw2","holder":"Ada#1","paths":["docs/**"],"mode":"shared","ttl":1800.0}', NULL, NULL, NULL, '01m7naw8pf021tq2fkskqfn9hv', 0);
INSERT INTO event VALUES (38, 'file:released', 1, 'claims', 37, '2026-11-17T18:04:03.378Z', 'Bob#1', '{"id":"c-eh932h4","holder":"Bob#1","paths":["src/b.py"],"left":["lib/**"]}', NULL, NULL, NULL, '01m7naw8xkcwag0tcxyqnj1scz', 0);
INSERT INTO event VALUES (39, 'file:claimed', 1, 'claims', 38, '2026-11-17T18:04:03.619Z', 'Bob#1', '{"id":"c-vvgfd41","holder":"Bob#1","paths":["x[0-9].txt","x[[]0-9].txt"],"mode":"exclusive","ttl":60.0}', NULL, NULL, NULL, '01m7naw953wj5j1dq5fpk25sd6', 0);
INSERT INTO event VALUES (40, 'file:released', 1, 'claims', 39, '2026-11-17T18:04:04.042Z', 'person:anna', '{"id":"c-eh932h4","holder":"Bob#1","paths":["lib/**"],"forced":true,"reason":"r"}', NULL, NULL, NULL, '01m7naw9jbmj33zbkvk82xx4zg', 0);
INSERT INTO event VALUES (41, 'artifact:created', 1, 'artifact/a.py', 0, '2026-11-17T18:04:04.339Z', 'Bob#1', '{"creator":"Bob#1","paths":["a.py"],"provides":["B"],"summary":"The parser."}', NULL, NULL, NULL, '01m7naw9vmg7wps4f8vy9ar2sg', 0);
INSERT INTO event VALUES (42, 'dependency:provided', 1, 'dependency/a.py', 0, '2026-11-17T18:04:04.339Z', 'Bob#1', '{"artifact":"a.py"}', NULL, NULL, NULL, '01m7naw9vmg7wps4f8vy9ar2sg', 1);
INSERT INTO event VALUES (43, 'dependency:provided', 1, 'dependency/B', 0, '2026-11-17T18:04:04.339Z', 'Bob#1', '{"artifact":"a.py"}', NULL, NULL, NULL, '01m7naw9vmg7wps4f8vy9ar2sg', 2);
INSERT INTO event VALUES (44, 'dependency:declared', 1, 'dependency/A', 0, '2026-11-17T18:04:04.676Z', 'Bob#1', '{"needer":"Bob","who":"Bob"}', NULL, NULL, NULL, '01m7nawa6dwyyhgy0r9d963x9v', 0);
INSERT INTO event VALUES (45, 'artifact:created', 1, 'artifact/A', 0, '2026-11-17T18:04:04.987Z', 'Ada#1', '{"creator":"Ada#1","uri":"http://x/","kind":"service"}', NULL, NULL, NULL, '01m7nawafwq1gzq9y82wrks8zw', 0);
INSERT INTO event VALUES (46, 'dependency:provided', 1, 'dependency/A', 44, '2026-11-17T18:04:04.987Z', 'Ada#1', '{"artifact":"A"}', NULL, NULL, NULL, '01m7nawafwq1gzq9y82wrks8zw', 1);
INSERT INTO event VALUES (47, 'dependency:satisfied', 1, 'dependency/A', 46, '2026-11-17T18:04:04.987Z', 'Ada#1', '{"artifact":"A","required_by":["Bob"]}', NULL, NULL, NULL, '01m7nawafwq1gzq9y82wrks8zw', 2);
INSERT INTO event VALUES (48, 'message:sent', 1, 'message/m-rqa1q9s', 0, '2026-11-17T18:04:04.987Z', 'Ada#1', '{"kind":"dependency","sender":"moot","to":["Bob"],"wants":"nothing","text":"A is there."}', NULL, 'dependency/A', NULL, '01m7nawafwq1gzq9y82wrks8zw', 3);
INSERT INTO event VALUES (49, 'dependency:provided', 1, 'dependency/http://x/', 0, '2026-11-17T18:04:04.987Z', 'Ada#1', '{"artifact":"A"}', NULL, NULL, NULL, '01m7nawafwq1gzq9y82wrks8zw', 4);
INSERT INTO event VALUES (50, 'artifact:modified', 1, 'artifact/a.py', 41, '2026-11-17T18:04:05.339Z', 'Bob#1', '{"modifier":"Bob#1","changes":["more"]}', NULL, NULL, NULL, '01m7nawatw720haeag5tjyt7ga', 0);
INSERT INTO event VALUES (51, 'dependency:declared', 1, 'dependency/Never', 0, '2026-11-17T18:04:05.735Z', 'Bob#1', '{"needer":"Bob","who":"Bob"}', NULL, NULL, NULL, '01m7nawb78mg9gnqr92kzazr8v', 0);
INSERT INTO event VALUES (52, 'dependency:dropped', 1, 'dependency/Never', 51, '2026-11-17T18:04:06.040Z', 'Bob#1', '{"needer":"Bob"}', NULL, NULL, NULL, '01m7nawbgt3gwa80g5q5ncy0rz', 0);
INSERT INTO event VALUES (53, 'decision:made', 1, 'decision/d-mrhb3hn', 0, '2026-11-17T18:04:06.330Z', 'Ada#1', '{"maker":"Ada#1","title":"Use spaces","affects":["task-*"],"paths":["src/**"]}', NULL, NULL, NULL, '01m7nawbswtxn66dv6ybthy25y', 0);
INSERT INTO event VALUES (54, 'decision:made', 1, 'decision/tabs', 0, '2026-11-17T18:04:06.561Z', 'Ada#1', '{"maker":"Ada#1","title":"Use four"}', NULL, NULL, NULL, '01m7nawc136v89ncqe63ahev5b', 0);
INSERT INTO event VALUES (55, 'decision:superseded', 1, 'decision/tabs', 54, '2026-11-17T18:04:07.457Z', 'Ada#1', '{"by":"d-mrhb3hn","who":"Ada#1"}', NULL, NULL, NULL, '01m7nawcx3x1bjfs74y7bamx0q', 0);
INSERT INTO event VALUES (56, 'checkpoint:reached', 1, 'checkpoint/k-80z5q3q', 0, '2026-11-17T18:04:07.787Z', 'Bob#1', '{"who":"Bob#1","kind":"human-verify","question":"Which colour?","options":["blue","red"],"task":"task-003"}', NULL, NULL, NULL, '01m7nawd7cegr2j4a37kaj8a4g', 0);
INSERT INTO event VALUES (57, 'checkpoint:resolved', 1, 'checkpoint/k-80z5q3q', 56, '2026-11-17T18:04:08.532Z', 'person:anna', '{"who":"person:anna","answer":"blue"}', NULL, NULL, NULL, '01m7nawdysshz4gbmh81c90fmh', 0);
INSERT INTO event VALUES (58, 'message:sent', 1, 'message/m-yp72zjs', 0, '2026-11-17T18:04:08.532Z', 'person:anna', '{"kind":"checkpoint","sender":"person:anna","to":["Bob"],"wants":"nothing","text":"blue\n\nThat answers k-80z5q3q: Which colour?","task":"task-003"}', NULL, 'k-80z5q3q', NULL, '01m7nawdysshz4gbmh81c90fmh', 1);
INSERT INTO event VALUES (59, 'checkpoint:reached', 1, 'checkpoint/k-p4xdjgx', 0, '2026-11-17T18:04:08.848Z', 'Bob#1', '{"who":"Bob#1","kind":"human-verify","question":"Withdrawn?"}', NULL, NULL, NULL, '01m7nawe8hcwy5k1fkd1581djy', 0);
INSERT INTO event VALUES (60, 'checkpoint:withdrawn', 1, 'checkpoint/k-p4xdjgx', 59, '2026-11-17T18:04:09.676Z', 'Bob#1', '{"who":"Bob#1","reason":"no"}', NULL, NULL, NULL, '01m7nawf2dcaxj0m31t425xgk8', 0);
INSERT INTO event VALUES (61, 'task:started', 1, 'task/task-001', 17, '2026-11-17T18:04:10.188Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":2,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nawfjtkrvdds8cqf7jge2c', 0);
INSERT INTO event VALUES (62, 'message:sent', 1, 'message/m-chfsh6z', 0, '2026-11-17T18:04:10.188Z', 'Bob#1', '{"kind":"decision","sender":"Ada#1","to":["Bob"],"wants":"nothing","text":"Use spaces\n\nd-mrhb3hn, concerns task-*, src/**"}', NULL, 'd-mrhb3hn', NULL, '01m7nawfjtkrvdds8cqf7jge2c', 1);
INSERT INTO event VALUES (63, 'task:submitted', 1, 'task/task-001', 61, '2026-11-17T18:04:10.696Z', 'Bob#1', '{"verb":"submit","source":"working","target":"review","phase":"review","attempt":2,"author":"Bob#1"}', NULL, NULL, NULL, '01m7nawg2899yhpw9tpqheqtkx', 0);
INSERT INTO event VALUES (64, 'task:approved', 1, 'task/task-001', 63, '2026-11-17T18:04:11.088Z', 'Ada#1', '{"verb":"approve","source":"review","target":"done","phase":"done","attempt":2,"role":"reviewer"}', NULL, NULL, NULL, '01m7nawgegwhmthe9pbf6d97wd', 0);
INSERT INTO event VALUES (65, 'task:readied', 1, 'task/task-002', 23, '2026-11-17T18:04:11.088Z', 'Ada#1', '{"done":"task-001"}', NULL, NULL, NULL, '01m7nawgegwhmthe9pbf6d97wd', 1);
INSERT INTO event VALUES (66, 'message:offered', 1, 'mailbox/bob', 31, '2026-11-17T18:04:11.704Z', 'Bob#1', '{"ids":["m-xy7vcsw","m-rqa1q9s","m-yp72zjs","m-chfsh6z"],"to":"Bob#1"}', NULL, NULL, NULL, '01m7nawh1sjfcxp254a7swzmq9', 0);
INSERT INTO event VALUES (67, 'message:acked', 1, 'mailbox/bob', 66, '2026-11-17T18:04:12.158Z', 'Bob#1', '{"ids":["m-chfsh6z"],"who":"Bob#1","read_at":"2026-11-17T18:04:12.158Z"}', NULL, NULL, NULL, '01m7nawhg0metvzmgzfxwnxwps', 0);
INSERT INTO event VALUES (68, 'message:sent', 1, 'message/m-repaayb', 0, '2026-11-17T18:04:12.579Z', 'Ada#1', '{"kind":"request","sender":"Ada#1","to":["Bob"],"wants":"answer","text":"soon gone","expires":0.01}', NULL, 'm-repaayb', NULL, '01m7nawhx426fbd4qjtcth4tj5', 0);
INSERT INTO event VALUES (69, 'message:expired', 1, 'mailbox/bob', 67, '2026-11-17T18:04:13.002Z', 'Bob#1', '{"ids":["m-repaayb"]}', NULL, NULL, NULL, '01m7nawjaacb2cc3ddv73kx6ba', 0);
INSERT INTO event VALUES (70, 'agent:joined', 1, 'agent/dot', 0, '2026-11-17T18:04:13.430Z', 'Dot#1', '{"name":"Dot","incarnation":1,"worktree":"."}', NULL, NULL, NULL, '01m7nawjqp04a8kzf6e0g3rk7h', 0);
INSERT INTO event VALUES (71, 'message:sent', 1, 'message/m-sxthy9y', 0, '2026-11-17T18:04:13.873Z', 'person:anna', '{"kind":"request","sender":"person:anna","to":["Dot"],"wants":"answer","text":"never read"}', NULL, 'm-sxthy9y', NULL, '01m7nawk5hb3hyhn5cjan9e9t0', 0);
INSERT INTO event VALUES (72, 'agent:left', 1, 'agent/dot', 70, '2026-11-17T18:04:14.280Z', 'person:anna', '{"incarnation":1,"retired":true}', NULL, NULL, NULL, '01m7nawkj81bn1w8kh8vhcc7dm', 0);
INSERT INTO event VALUES (73, 'message:dead', 1, 'mailbox/dot', 0, '2026-11-17T18:04:14.280Z', 'person:anna', '{"ids":["m-sxthy9y"],"reason":"Dot retired"}', NULL, NULL, NULL, '01m7nawkj81bn1w8kh8vhcc7dm', 1);
INSERT INTO event VALUES (74, 'task:added', 1, 'task/lapse-1', 0, '2026-11-17T18:04:14.715Z', 'Ada#1', '{"title":"To lapse","state":"open","phase":"open","lifecycle":"core","creator":"Ada#1","ttl":1800.0}', NULL, NULL, NULL, '01m7nawkzwkd00cw07k5h5q7w4', 0);
INSERT INTO event VALUES (75, 'task:started', 1, 'task/lapse-1', 74, '2026-11-17T18:04:15.130Z', 'Bob#1', '{"verb":"claim","source":"open","target":"working","phase":"working","attempt":1,"holder":"Bob#1"}', NULL, NULL, NULL, '01m7nawmd6w593j90qbh4xjz2k', 0);
INSERT INTO event VALUES (76, 'file:claimed', 1, 'claims', 40, '2026-11-17T18:04:15.574Z', 'Bob#1', '{"id":"c-aahgy2j","holder":"Bob#1","paths":["lapsing.py"],"mode":"exclusive","ttl":1800.0}', NULL, NULL, NULL, '01m7nawmv245gd42wq91j1dv7a', 0);
INSERT INTO event VALUES (77, 'agent:joined', 1, 'agent/bob', 2, '2026-11-17T18:04:16.238Z', 'Bob#2', '{"name":"Bob","incarnation":2,"roles":["developer"],"worktree":".","replaces":1}', NULL, NULL, NULL, '01m7nawnff69jsnpk9xwm3xqxg', 0);
INSERT INTO event VALUES (78, 'task:lapsed', 1, 'task/lapse-1', 75, '2026-11-17T18:04:16.238Z', 'Bob#2', '{"verb":"lapse","source":"working","target":"open","phase":"open","attempt":2,"reason":"replaced by Bob#2","silent_for":0.0,"ttl":0.0}', NULL, NULL, NULL, '01m7nawnff69jsnpk9xwm3xqxg', 1);
INSERT INTO event VALUES (79, 'file:lapsed', 1, 'claims', 76, '2026-11-17T18:04:16.238Z', 'Bob#2', '{"id":"c-vvgfd41","holder":"Bob#1","paths":["x[0-9].txt","x[[]0-9].txt"],"ttl":60.0,"reason":"replaced"}', NULL, NULL, NULL, '01m7nawnff69jsnpk9xwm3xqxg', 2);
INSERT INTO event VALUES (80, 'file:lapsed', 1, 'claims', 79, '2026-11-17T18:04:16.238Z', 'Bob#2', '{"id":"c-aahgy2j","holder":"Bob#1","paths":["lapsing.py"],"ttl":1800.0,"reason":"replaced"}', NULL, NULL, NULL, '01m7nawnff69jsnpk9xwm3xqxg', 3);
INSERT INTO event VALUES (81, 'task:added', 1, 'task/task-050', 0, '2026-11-17T18:04:23.272Z', 'Ada#1', '{"title":"Build it","state":"pending","phase":"open","lifecycle":"orchestrator","creator":"Ada#1","ttl":1800.0,"extra":{"platform":"web"}}', NULL, NULL, NULL, '01m7nawwcbk1j55fxhasmbcxff', 0);
INSERT INTO event VALUES (82, 'task:started', 1, 'task/task-050', 81, '2026-11-17T18:04:23.272Z', 'Ada#1', '{"verb":"claim","source":"pending","target":"in_progress","phase":"working","attempt":1,"holder":"Ada#1","role":"team-lead"}', NULL, NULL, NULL, '01m7nawwcbk1j55fxhasmbcxff', 1);
INSERT INTO event VALUES (83, 'message:sent', 1, 'message/m-x1qfc9f', 0, '2026-11-17T18:04:23.272Z', 'Ada#1', '{"kind":"task_assignment","sender":"Ada#1","to":["@developer"],"wants":"ack","data":{"type":"task_assignment","taskId":"task-050","platform":"web","title":"Build it","instructions":"As described.","filesToCreate":["a.py"],"architecture":"One.","timestamp":"2031-05-08T09:30:00Z"},"task":"task-050","attempt":1,"role":"team-lead","flags":["clock_differs: the sender''s timestamp lies 1633 days after the arrival"]}', NULL, 'm-x1qfc9f', 'orchestrator', '01m7nawwcbk1j55fxhasmbcxff', 2);
INSERT INTO event VALUES (84, 'entry:held', 1, 'entry/h-60jej6r', 0, '2026-11-17T18:04:25.599Z', 'role:team-lead', '{"path":".claude-orchestrator/tasks/messages/to-developer.json","mirror":"to-developer","raw":"{\"type\": \"task_assignment\", \"taskId\": \"task-051\"}","code":"bad_message","reason":"The task_assignment has 6 defects: platform: expected one of web, android, ios, custom, found nothing; title: expected a non-empty string, found nothing; instructions: expected a non-empty string, found nothing; filesToCreate: expected a list, each a non-empty string, found nothing; architecture: expected a non-empty string, found nothing; timestamp: expected an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z, found nothing. Correct all of them and send it again; `--dry-run` checks without sending.","defects":[{"path":"platform","expected":"one of web, android, ios, custom","found":"nothing"},{"path":"title","expected":"a non-empty string","found":"nothing"},{"path":"instructions","expected":"a non-empty string","found":"nothing"},{"path":"filesToCreate","expected":"a list, each a non-empty string","found":"nothing"},{"path":"architecture","expected":"a non-empty string","found":"nothing"},{"path":"timestamp","expected":"an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z","found":"nothing"}],"task":"task-051"}', NULL, NULL, NULL, '01m7nawym0wwa3gkxrzsw935wr', 0);
INSERT INTO event VALUES (85, 'message:sent', 1, 'message/m-17dhj79', 0, '2026-11-17T18:04:25.599Z', 'role:team-lead', '{"kind":"note","sender":"moot","to":["@developer"],"wants":"nothing","text":"An entry of .claude-orchestrator/tasks/messages/to-developer.json is held as h-60jej6r: The task_assignment has 6 defects: platform: expected one of web, android, ios, custom, found nothing; title: expected a non-empty string, found nothing; instructions: expected a non-empty string, found nothing; filesToCreate: expected a list, each a non-empty string, found nothing; architecture: expected a non-empty string, found nothing; timestamp: expected an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z, found nothing. Correct all of them and send it again; `--dry-run` checks without sending."}', NULL, 'm-17dhj79', NULL, '01m7nawym0wwa3gkxrzsw935wr', 1);
INSERT INTO event VALUES (86, 'task:added', 1, 'task/task/../x', 0, '2026-11-17T18:04:25.604Z', 'role:team-lead', '{"title":"Build it","state":"pending","phase":"open","lifecycle":"orchestrator","creator":"role:team-lead","ttl":1800.0,"extra":{"platform":"web"}}', NULL, NULL, NULL, '01m7nawym8f868vssqvr9akra4', 0);
INSERT INTO event VALUES (87, 'task:started', 1, 'task/task/../x', 86, '2026-11-17T18:04:25.604Z', 'role:team-lead', '{"verb":"claim","source":"pending","target":"in_progress","phase":"working","attempt":1,"holder":"role:team-lead","role":"team-lead"}', NULL, NULL, NULL, '01m7nawym8f868vssqvr9akra4', 1);
INSERT INTO event VALUES (88, 'message:sent', 1, 'message/m-9y7kmn9', 0, '2026-11-17T18:04:25.604Z', 'role:team-lead', '{"kind":"task_assignment","sender":"role:team-lead","to":["@developer"],"wants":"ack","data":{"type":"task_assignment","taskId":"task/../x","platform":"web","title":"Build it","instructions":"As.","filesToCreate":["a.py"],"architecture":"One.","timestamp":"2031-05-08T09:31:00Z"},"task":"task/../x","attempt":1,"role":"team-lead","source":".claude-orchestrator/tasks/messages/to-developer.json","flags":["clock_differs: the sender''s timestamp lies 1633 days after the arrival"]}', NULL, 'm-9y7kmn9', 'orchestrator', '01m7nawym8f868vssqvr9akra4', 2);
INSERT INTO event VALUES (89, 'entry:dropped', 1, 'entry/h-60jej6r', 84, '2026-11-17T18:04:28.624Z', 'person:anna', '{"reason":"no"}', NULL, NULL, NULL, '01m7nax1jghp3kqepb9grq19dw', 0);
INSERT INTO commits VALUES ('01m7naw0kpb5kt4e5p8wjbcj4p', 1, 1);
INSERT INTO commits VALUES ('01m7naw0xa5w0a9370kraq0hjt', 2, 2);
INSERT INTO commits VALUES ('01m7naw15z19aj0nwpzjmt3ptd', 3, 3);
INSERT INTO commits VALUES ('01m7naw1dcyaaref6cf3efhxzy', 4, 4);
INSERT INTO commits VALUES ('01m7naw1kr7g2hng4fptwab6mf', 5, 5);
INSERT INTO commits VALUES ('01m7naw1v30xv0vd199qwe3gb9', 6, 6);
INSERT INTO commits VALUES ('01m7naw23vafxy4q59qgz14r08', 7, 7);
INSERT INTO commits VALUES ('01m7naw2c3c0xkaw8hra25jzgw', 8, 9);
INSERT INTO commits VALUES ('01m7naw2m1hsm8x76xfqd5crxb', 10, 10);
INSERT INTO commits VALUES ('01m7naw2y3gafjj86jckqfhgm2', 11, 11);
INSERT INTO commits VALUES ('01m7naw34qsxethn8rgfmf9pk0', 12, 12);
INSERT INTO commits VALUES ('01m7naw3da3yjb4jjw6qtzbbyz', 13, 13);
INSERT INTO commits VALUES ('01m7naw3kt96px3hk43bs64n8j', 14, 14);
INSERT INTO commits VALUES ('01m7naw3ts3ctm52sqf7s7b3nk', 15, 15);
INSERT INTO commits VALUES ('01m7naw41yq4cz9rfb7jw441j9', 16, 16);
INSERT INTO commits VALUES ('01m7naw48vgkretwhfrx7j458n', 17, 17);
INSERT INTO commits VALUES ('01m7naw4h21p7bzbyg5vbqnt5s', 18, 18);
INSERT INTO commits VALUES ('01m7naw4qysg55rp3frwrjstgh', 19, 19);
INSERT INTO commits VALUES ('01m7naw4yrb53j63kapp0ebvn3', 20, 20);
INSERT INTO commits VALUES ('01m7naw569meb2tq8n8fyr4y6v', 21, 21);
INSERT INTO commits VALUES ('01m7naw5d6d25r79xbnsp5tczq', 22, 22);
INSERT INTO commits VALUES ('01m7naw5n6ca8e9cgj1ykknk0v', 23, 23);
INSERT INTO commits VALUES ('01m7naw5wftg9c3g7b7zcvzwnt', 24, 25);
INSERT INTO commits VALUES ('01m7naw64esyh7rpe8vb4x22gt', 26, 27);
INSERT INTO commits VALUES ('01m7naw6ajrx6d4ncxdd07mjg0', 28, 28);
INSERT INTO commits VALUES ('01m7naw6hcn3q8ppz8txhqb5zz', 29, 29);
INSERT INTO commits VALUES ('01m7naw71fmrqewdyymb4nvm6s', 30, 31);
INSERT INTO commits VALUES ('01m7naw78zx564c7rghmatmve2', 32, 32);
INSERT INTO commits VALUES ('01m7naw7gmmf7swhaj59caxa83', 33, 33);
INSERT INTO commits VALUES ('01m7naw7rd17tsa54w3hd3tzmy', 34, 34);
INSERT INTO commits VALUES ('01m7naw7ztgb61fxjt8e6t63xk', 35, 35);
INSERT INTO commits VALUES ('01m7naw8ea6p2cc1qsk8ef1fy5', 36, 36);
INSERT INTO commits VALUES ('01m7naw8pf021tq2fkskqfn9hv', 37, 37);
INSERT INTO commits VALUES ('01m7naw8xkcwag0tcxyqnj1scz', 38, 38);
INSERT INTO commits VALUES ('01m7naw953wj5j1dq5fpk25sd6', 39, 39);
INSERT INTO commits VALUES ('01m7naw9jbmj33zbkvk82xx4zg', 40, 40);
INSERT INTO commits VALUES ('01m7naw9vmg7wps4f8vy9ar2sg', 41, 43);
INSERT INTO commits VALUES ('01m7nawa6dwyyhgy0r9d963x9v', 44, 44);
INSERT INTO commits VALUES ('01m7nawafwq1gzq9y82wrks8zw', 45, 49);
INSERT INTO commits VALUES ('01m7nawatw720haeag5tjyt7ga', 50, 50);
INSERT INTO commits VALUES ('01m7nawb78mg9gnqr92kzazr8v', 51, 51);
INSERT INTO commits VALUES ('01m7nawbgt3gwa80g5q5ncy0rz', 52, 52);
INSERT INTO commits VALUES ('01m7nawbswtxn66dv6ybthy25y', 53, 53);
INSERT INTO commits VALUES ('01m7nawc136v89ncqe63ahev5b', 54, 54);
INSERT INTO commits VALUES ('01m7nawcx3x1bjfs74y7bamx0q', 55, 55);
INSERT INTO commits VALUES ('01m7nawd7cegr2j4a37kaj8a4g', 56, 56);
INSERT INTO commits VALUES ('01m7nawdysshz4gbmh81c90fmh', 57, 58);
INSERT INTO commits VALUES ('01m7nawe8hcwy5k1fkd1581djy', 59, 59);
INSERT INTO commits VALUES ('01m7nawf2dcaxj0m31t425xgk8', 60, 60);
INSERT INTO commits VALUES ('01m7nawfjtkrvdds8cqf7jge2c', 61, 62);
INSERT INTO commits VALUES ('01m7nawg2899yhpw9tpqheqtkx', 63, 63);
INSERT INTO commits VALUES ('01m7nawgegwhmthe9pbf6d97wd', 64, 65);
INSERT INTO commits VALUES ('01m7nawh1sjfcxp254a7swzmq9', 66, 66);
INSERT INTO commits VALUES ('01m7nawhg0metvzmgzfxwnxwps', 67, 67);
INSERT INTO commits VALUES ('01m7nawhx426fbd4qjtcth4tj5', 68, 68);
INSERT INTO commits VALUES ('01m7nawjaacb2cc3ddv73kx6ba', 69, 69);
INSERT INTO commits VALUES ('01m7nawjqp04a8kzf6e0g3rk7h', 70, 70);
INSERT INTO commits VALUES ('01m7nawk5hb3hyhn5cjan9e9t0', 71, 71);
INSERT INTO commits VALUES ('01m7nawkj81bn1w8kh8vhcc7dm', 72, 73);
INSERT INTO commits VALUES ('01m7nawkzwkd00cw07k5h5q7w4', 74, 74);
INSERT INTO commits VALUES ('01m7nawmd6w593j90qbh4xjz2k', 75, 75);
INSERT INTO commits VALUES ('01m7nawmv245gd42wq91j1dv7a', 76, 76);
INSERT INTO commits VALUES ('01m7nawnff69jsnpk9xwm3xqxg', 77, 80);
INSERT INTO commits VALUES ('01m7nawwcbk1j55fxhasmbcxff', 81, 83);
INSERT INTO commits VALUES ('01m7nawym0wwa3gkxrzsw935wr', 84, 85);
INSERT INTO commits VALUES ('01m7nawym8f868vssqvr9akra4', 86, 88);
INSERT INTO commits VALUES ('01m7nax1jghp3kqepb9grq19dw', 89, 89);
INSERT INTO meta VALUES ('workspace', 'e11fd673216373929406ba9fbd6b3de5');
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
CREATE TRIGGER event_never_changes BEFORE UPDATE ON event BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER event_never_goes BEFORE DELETE ON event BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER commit_never_changes BEFORE UPDATE ON commits BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER commit_never_goes BEFORE DELETE ON commits BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER request_never_changes BEFORE UPDATE ON request BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER request_never_goes BEFORE DELETE ON request BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

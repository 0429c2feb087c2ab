/**
 * Programs that mean harm, or behave as if they did. Each is plain CommonJS that runs as the file
 * `program.js`; `nonce` marks what they start, `canary` is what a secret of the agent looks like.
 */
import type { ProgramEnd, ScriptLimits } from '../../../agent/script-host/script-host.ts';

export type Isolation = 'user' | 'namespaces' | 'process-group';

export interface Hostile {
  readonly name: string;
  readonly script: string;
  /** Also tried in the ways other than that of root with namespaces: it is one of its kind, or aims at the way. */
  readonly everyWay?: boolean;
  /** How it must end; anything will do when absent. */
  readonly ends?: Partial<Pick<ProgramEnd, 'reason' | 'exitCode' | 'signal'>>;
  /** Must be in its output. */
  readonly says?: RegExp;
  /** The reason for which it may be ended before it can say so. */
  readonly unlessEndedFor?: ProgramEnd['reason'];
  readonly limits?: Partial<ScriptLimits>;
  readonly timeoutMs?: number;
  /** Left out where it would hit the machine rather than the run. */
  readonly notWith?: readonly Isolation[];
}

/** What programs can use. */
export const prelude = `
const cp = require('node:child_process'), fs = require('node:fs'), os = require('node:os'), path = require('node:path');
const nonce = process.env.NONCE, sleeper = ['sleep', [nonce]];
const detached = { detached: true, stdio: 'ignore' };
const forever = () => setInterval(() => undefined, 1000);
const attempt = (what) => { try { return what(); } catch (error) { return error.code ?? error.message; } };
const isCanary = (text) => String(text).match(/can[a]ry_[0-9a-f]{32}/g) ?? [];
const hunt = (files) => { for (const file of files) { attempt(() => { for (const found of isCanary(fs.readFileSync(file, 'latin1'))) console.log(file, found); }); } };
const pids = () => fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name));
`;

const sh = (command: string): string =>
  `cp.spawnSync('/bin/sh', ['-c', ${JSON.stringify(command)}], { stdio: 'inherit' });`;

export const hostiles: readonly Hostile[] = [
  // Endings
  {
    name: 'exits at once with success',
    script: 'process.exit(0)',
    ends: { reason: 'exit', exitCode: 0 },
  },
  { name: 'exits with a code', script: 'process.exit(7)', ends: { reason: 'exit', exitCode: 7 } },
  {
    ...{ name: 'throws', everyWay: true, script: "throw new Error('thrown')" },
    ...{ ends: { reason: 'exit', exitCode: 1 }, says: /thrown/ },
  },
  {
    name: 'rejects and nobody handles it',
    script: "Promise.reject(new Error('rejected'))",
    ends: { exitCode: 1 },
    says: /rejected/,
  },
  { name: 'aborts', script: 'process.abort()', ends: { reason: 'exit', signal: 'SIGABRT' } },
  {
    name: 'kills itself',
    everyWay: true,
    script: "process.kill(process.pid, 'SIGKILL')",
    ends: { reason: 'exit', signal: 'SIGKILL' },
  },
  {
    name: 'breaks its memory',
    script: "process.kill(process.pid, 'SIGSEGV'); forever()",
    ends: { reason: 'exit', signal: 'SIGSEGV' },
  },
  {
    name: 'loads what is no library',
    script:
      "fs.writeFileSync('x.node', 'nonsense'); process.dlopen({ exports: {} }, path.resolve('x.node'))",
    ends: { exitCode: 1 },
  },
  // Hanging
  { name: 'loops for ever', script: 'for (;;);', ends: { reason: 'timeout' } },
  {
    name: 'loops in promises for ever',
    script: '(async () => { for (;;) await null; })()',
    ends: { reason: 'timeout' },
  },
  {
    name: 'waits for input for ever',
    script: "process.stdin.on('data', () => undefined); forever()",
    ends: { reason: 'timeout' },
  },
  {
    name: 'ignores the polite signals',
    everyWay: true,
    script:
      "for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => undefined); forever()",
    // Long enough for its handlers to be there on a busy machine.
    timeoutMs: 5_000,
    ends: { reason: 'timeout', signal: 'SIGKILL' },
  },
  {
    name: 'stops itself',
    everyWay: true,
    script: "process.kill(process.pid, 'SIGSTOP'); forever()",
    ends: { reason: 'timeout' },
  },
  {
    name: 'hangs in worker threads',
    script:
      "const { Worker } = require('node:worker_threads'); for (let i = 0; i < 8; i++) new Worker('for (;;);', { eval: true })",
    ends: { reason: 'timeout' },
  },
  {
    name: 'keeps a server open',
    script: "require('node:net').createServer().listen(0); cp.spawn(...sleeper, detached)",
    ends: { reason: 'timeout' },
  },
  // Outliving
  {
    name: 'leaves a child in a session of its own',
    script: 'cp.spawn(...sleeper, detached).unref()',
    ends: { reason: 'exit', exitCode: 0 },
  },
  {
    name: 'leaves a grandchild by setsid',
    script: sh('setsid sleep $NONCE >/dev/null 2>&1 &'),
    ends: { exitCode: 0 },
  },
  {
    name: 'forks twice with nothing in the environment',
    everyWay: true,
    script: sh('(env -i setsid sh -c "cd /; sleep $NONCE & sleep $NONCE &" >/dev/null 2>&1 &)'),
    ends: { exitCode: 0 },
  },
  {
    name: 'leaves children that hold its output open',
    script: sh('setsid sleep $NONCE & setsid sleep $NONCE & exit 0'),
    ends: { exitCode: 0 },
  },
  { name: 'uses nohup', script: sh('nohup sleep $NONCE >/dev/null 2>&1 &'), ends: { exitCode: 0 } },
  {
    name: 'leaves children that ignore signals',
    everyWay: true,
    script: sh(
      '(trap "" TERM HUP INT; setsid sleep $NONCE & setsid sleep $NONCE) >/dev/null 2>&1 & sleep 0.1',
    ),
    ends: { exitCode: 0 },
  },
  {
    name: 'is followed by children that start each other',
    everyWay: true,
    script:
      "fs.writeFileSync('relay.sh', 'sleep 0.01; setsid sh relay.sh >/dev/null 2>&1 &'); cp.spawn('sh', ['relay.sh'], detached).unref(); setTimeout(() => process.exit(0), 200)",
    ends: { exitCode: 0 },
  },
  // Harming others
  {
    name: 'kills its parent',
    script: "console.log(attempt(() => process.kill(process.ppid, 'SIGKILL'))); forever()",
    notWith: ['process-group'],
    ends: { reason: 'timeout' },
  },
  {
    ...{ name: 'kills its parent where it can', everyWay: true, timeoutMs: 1_200 },
    script:
      "cp.spawn(...sleeper, detached); console.log(attempt(() => process.kill(process.ppid, 'SIGKILL'))); forever()",
  },
  {
    name: 'stops and continues its parent',
    script:
      "for (const name of ['SIGSTOP', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGQUIT']) attempt(() => process.kill(process.ppid, name)); forever()",
    notWith: ['process-group'],
    ends: { reason: 'timeout' },
  },
  {
    ...{ name: 'kills everything there is', everyWay: true },
    ...{ script: sh('kill -9 -1') + 'forever()', notWith: ['process-group'] },
  },
  {
    name: 'kills each process that it finds',
    script:
      "for (const pid of pids()) if (Number(pid) !== process.pid) attempt(() => process.kill(Number(pid), 'SIGKILL')); console.log('still here')",
    notWith: ['process-group'],
    says: /still here/,
  },
  {
    name: 'forks without end',
    everyWay: true,
    script:
      'const bomb = () => { for (;;) attempt(() => cp.spawn(process.execPath, [__filename], detached)); }; bomb()',
    ...{ ends: { reason: 'processes' }, limits: { processes: 24 }, notWith: ['process-group'] },
  },
  {
    name: 'forks without end in a shell',
    timeoutMs: 4_000,
    script:
      "fs.writeFileSync('bomb.sh', 'b() { b | b & }; b; sleep 60'); cp.spawnSync('sh', ['bomb.sh'], { stdio: 'ignore' }); forever()",
    limits: { processes: 24 },
    // Where threads count as well, it chokes before it has so many processes.
    notWith: ['process-group'],
  },
  {
    name: 'starts many that sleep',
    everyWay: true,
    script: 'for (let i = 0; i < 60; i++) cp.spawn(...sleeper, detached); forever()',
    limits: { processes: 24 },
    ends: { reason: 'processes' },
  },
  {
    name: 'traces the agent',
    everyWay: true,
    // Its parent may be a program that only starts it. In a namespace of its own it is process 1 and sees no agent.
    script:
      "const upwards = (pid) => pid === 0 ? null : fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('hostile-agent') ? pid : upwards(Number(/^PPid:\\s*(\\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1])); const agent = upwards(process.ppid); const end = agent === null ? { status: 1 } : cp.spawnSync('strace', ['-p', String(agent)], { timeout: 10_000 }); console.log('traced', end.status > 0 ? 'nothing' : end.error.code)",
    says: /traced (nothing|ENOENT)/,
  },
  {
    name: 'takes another user',
    everyWay: true,
    script:
      "const before = process.getuid(), other = before === 0 ? 1 : 0; console.log(attempt(() => process.setuid(other)), attempt(() => process.setgid(other)), attempt(() => process.setgroups([other]))); console.log('uid', process.getuid()); process.exit(process.getuid() === before ? 5 : 0)",
    ends: { exitCode: 5 },
  },
  {
    name: 'asks programs that change the user',
    everyWay: true,
    script: sh(
      'su -c id root </dev/null; sudo -n id; mount -t tmpfs none /mnt; unshare -r id -u; grep NoNewPrivs /proc/self/status',
    ),
    says: /NoNewPrivs:\s+1/,
  },
  {
    name: 'lifts its limits',
    everyWay: true,
    script: sh('ulimit -c unlimited 2>&1; ulimit -f unlimited 2>&1; echo core $(ulimit -c)'),
    says: /core 0/,
  },
  {
    name: 'is nice to itself',
    script: 'console.log(attempt(() => os.setPriority(0, -20))); for (;;);',
    ends: { reason: 'timeout' },
  },
  // Using up
  {
    name: 'fills the heap',
    script: 'const all = []; for (;;) all.push(new Array(10_000).fill(all.length))',
    limits: { memoryBytes: 2e8 },
    ends: { reason: 'memory' },
  },
  {
    name: 'fills memory outside the heap',
    everyWay: true,
    script: 'const all = []; setInterval(() => all.push(Buffer.alloc(20_000_000, 1)), 5)',
    limits: { memoryBytes: 2e8 },
    ends: { reason: 'memory' },
  },
  {
    name: 'fills memory with many children',
    script:
      "for (let i = 0; i < 8; i++) cp.spawn(process.execPath, ['-e', 'global.all = Buffer.alloc(60_000_000, 1); setInterval(() => 0, 1000)'], detached); forever()",
    limits: { memoryBytes: 3e8 },
    ends: { reason: 'memory' },
  },
  {
    name: 'shares memory with its threads',
    script:
      'const all = []; setInterval(() => { const one = new SharedArrayBuffer(20_000_000); new Uint8Array(one).fill(1); all.push(one); }, 5)',
    limits: { memoryBytes: 2e8 },
    ends: { reason: 'memory' },
  },
  {
    name: 'writes one large file',
    script: "const part = Buffer.alloc(1_000_000, 1); for (;;) fs.appendFileSync('large', part)",
    says: /EFBIG/,
    unlessEndedFor: 'disk',
  },
  {
    name: 'writes many large files',
    script:
      "const part = Buffer.alloc(1_000_000, 1); let i = 0; setInterval(() => fs.writeFileSync('large' + i++, part), 1)",
    ends: { reason: 'disk' },
  },
  {
    name: 'writes files that have no name any more',
    everyWay: true,
    script:
      "const part = Buffer.alloc(4_000_000, 1); let i = 0; setInterval(() => { const fd = fs.openSync('large' + i, 'w'); fs.writeSync(fd, part); fs.unlinkSync('large' + i++); }, 5)",
    ends: { reason: 'disk' },
  },
  {
    name: 'writes a hundred thousand files',
    script:
      "for (let i = 0; i < 100_000; i++) { if (i % 100 === 0) fs.mkdirSync('d' + i); fs.writeFileSync('d' + (i - i % 100) + '/f' + i, ''); } forever()",
    ends: { reason: 'disk' },
  },
  {
    name: 'writes outside its folder, where all may',
    script:
      "const part = Buffer.alloc(1_000_000, 1); let i = 0; setInterval(() => fs.writeFileSync('/tmp/hostile-' + nonce + '-' + i++, part), 1)",
    notWith: ['process-group', 'namespaces'],
    ends: { reason: 'disk' },
  },
  {
    name: 'makes a file with a hole',
    script:
      "console.log(attempt(() => fs.truncateSync(fs.openSync('hole', 'w') && 'hole', 2 ** 40))); forever()",
    timeoutMs: 1_000,
  },
  {
    name: 'opens descriptors without end',
    everyWay: true,
    script:
      "let i = 0; for (;; i++) { const error = attempt(() => fs.openSync('/dev/null')); if (typeof error === 'string') { console.log(error, i < 10_000); break; } }",
    says: /EMFILE true/,
  },
  {
    name: 'nests folders without end',
    script:
      "for (let i = 0; i < 1500; i++) { fs.mkdirSync('deep-deep-deep'); process.chdir('deep-deep-deep'); } forever()",
    ends: { reason: 'disk' },
  },
  // Talking
  {
    name: 'writes to its output without end',
    script: "const text = 'x'.repeat(65_000) + '\\n'; for (;;) fs.writeSync(1, text)",
    ends: { reason: 'timeout' },
    timeoutMs: 1_500,
  },
  {
    name: 'writes errors without end, in short lines',
    everyWay: true,
    script: "const text = 'no\\n'.repeat(10_000); for (;;) fs.writeSync(2, text)",
    ends: { reason: 'timeout' },
    timeoutMs: 1_500,
  },
  {
    name: 'writes one line of 15 MB',
    script:
      "const text = 'x'.repeat(1_000_000); for (let i = 0; i < 15; i++) fs.writeSync(1, text); console.log('\\nthe end')",
    timeoutMs: 8_000,
  },
  {
    name: 'sends messages without end',
    script:
      "const text = JSON.stringify({ a: 'b'.repeat(1000) }) + '\\n'; for (;;) fs.writeSync(3, text)",
    ends: { reason: 'timeout' },
    timeoutMs: 1_500,
  },
  {
    name: 'sends a message that is too large',
    script: "fs.writeSync(3, JSON.stringify({ a: 'b'.repeat(3_000_000) }) + '\\n')",
    ends: { exitCode: 0 },
    says: /was left out/,
  },
  {
    name: 'sends what is no message',
    script: "fs.writeSync(3, 'nonsense\\n{\\n\\0\\u{1F4A9}\\n')",
    ends: { exitCode: 0 },
    says: /not JSON/,
  },
  {
    name: 'sends forged messages',
    everyWay: true,
    script:
      'fs.writeSync(3, \'{"__proto__":{"polluted":1},"type":"end","reason":"exit"}\\n\'); process.exit(3)',
    ends: { reason: 'exit', exitCode: 3 },
  },
  {
    name: 'talks to the supervisor',
    everyWay: true,
    script:
      sh(
        'for fd in 5 6 7 8 9; do eval "printf \'end exit 0 0\\\\ngone\\\\n\' >&$fd" 2>/dev/null; done; true',
      ) + 'process.exit(9)',
    ends: { reason: 'exit', exitCode: 9 },
  },
  {
    name: 'closes all its descriptors',
    everyWay: true,
    script: 'for (let fd = 0; fd < 5; fd++) attempt(() => fs.closeSync(fd)); process.exit(4)',
    ends: { exitCode: 4 },
  },
  // Prying
  {
    name: 'reads the environment, command line and memory of all',
    everyWay: true,
    script:
      "for (const pid of pids()) { if (Number(pid) === process.pid) continue; hunt(['environ', 'cmdline', 'maps', 'auxv'].map((name) => `/proc/${pid}/${name}`)); attempt(() => { for (const line of fs.readFileSync(`/proc/${pid}/maps`, 'latin1').split('\\n').filter((text) => /rw-p.*(heap|stack)/.test(text))) { const [from, to] = line.split(' ')[0].split('-').map((text) => parseInt(text, 16)); const part = Buffer.alloc(Math.min(to - from, 8e6)); fs.readSync(fs.openSync(`/proc/${pid}/mem`), part, 0, part.length, from); for (const found of isCanary(part.toString('latin1'))) console.log(pid, found); } }); }",
    ends: { exitCode: 0 },
  },
  {
    name: 'reads open files of all',
    everyWay: true,
    script:
      'for (const pid of pids()) { attempt(() => hunt(fs.readdirSync(`/proc/${pid}/fd`).map(Number).filter((fd) => fs.statSync(`/proc/${pid}/fd/${fd}`).isFile()).map((fd) => `/proc/${pid}/fd/${fd}`))); attempt(() => hunt([`/proc/${pid}/root${process.env.KEY_FILE}`, `/proc/${pid}/cwd/key`])); }',
    ends: { exitCode: 0 },
  },
  {
    name: 'reads the key file and the data of the agent',
    everyWay: true,
    script:
      'hunt([process.env.KEY_FILE]); attempt(() => hunt(fs.readdirSync(process.env.DATA_DIR).map((name) => path.join(process.env.DATA_DIR, name))))',
    ends: { exitCode: 0 },
    notWith: ['process-group'],
  },
  {
    name: 'reads the folders of other runs',
    script:
      'const all = path.dirname(path.dirname(process.env.HOME)); const walk = (folder) => attempt(() => { for (const name of fs.readdirSync(folder)) { const file = path.join(folder, name); if (file === process.env.HOME) continue; hunt([file]); walk(file); } }); walk(all); walk(path.dirname(process.env.HOME))',
    ends: { exitCode: 0 },
    notWith: ['process-group'],
  },
  {
    name: 'uncovers what is hidden',
    everyWay: true,
    script: sh(
      'umount -l $DATA_DIR; umount /proc; unshare -rm sh -c "umount -l $DATA_DIR $KEY_FILE; cat $KEY_FILE $DATA_DIR/*; cat /proc/*/environ"; true',
    ),
    ends: { exitCode: 0 },
    notWith: ['process-group'],
  },
  {
    name: 'leaves its root',
    everyWay: true,
    script: sh(
      'unshare -r chroot /proc/1/root cat $KEY_FILE; unshare -rpf --mount-proc sh -c "cat /proc/*/environ"; true',
    ),
    ends: { exitCode: 0 },
    notWith: ['process-group'],
  },
  {
    name: 'asks the metadata service and the health port',
    script:
      "const net = require('node:net'); const s = net.connect({ host: '169.254.169.254', port: 80 }); const done = (what) => { console.log('metadata', what); process.exit(0); }; s.on('connect', () => done('connected')).on('error', (error) => done(error.code)); setTimeout(done, 500, 'silent')",
    ends: { exitCode: 0 },
    says: /metadata/,
  },
  // Spoiling the folder
  {
    name: 'puts links where its folder is deleted',
    everyWay: true,
    script:
      "fs.mkdirSync('a'); fs.symlinkSync(process.env.PRECIOUS, 'a/link'); fs.symlinkSync(path.join(process.env.PRECIOUS, 'kept'), 'file'); fs.symlinkSync('/', 'root')",
    ends: { exitCode: 0 },
  },
  {
    name: 'turns its folder for temporary files into a link',
    script: "fs.rmdirSync('tmp'); fs.symlinkSync(process.env.PRECIOUS, 'tmp')",
    ends: { exitCode: 0 },
  },
  {
    name: 'links to files of others',
    script:
      "console.log(attempt(() => fs.linkSync(path.join(process.env.PRECIOUS, 'kept'), 'hard')))",
    ends: { exitCode: 0 },
  },
  {
    name: 'takes all permissions away',
    everyWay: true,
    script:
      "fs.mkdirSync('a/b/c', { recursive: true }); fs.writeFileSync('a/b/c/d', 'x'); for (const f of ['a/b/c/d', 'a/b/c', 'a/b', 'a', '.']) fs.chmodSync(f, 0)",
    ends: { exitCode: 0 },
  },
  {
    name: 'uses names nobody can type',
    script:
      "for (const name of ['-rf', '\\n', '*', '\\u{1F4A9}', ' ', '\\\\', 'x'.repeat(255)]) fs.writeFileSync(name, 'x'); fs.writeFileSync(Buffer.from([0xff, 0xfe, 0x0a]), 'x')",
    ends: { exitCode: 0 },
  },
  {
    name: 'leaves pipes, sockets and a tree too deep for paths',
    everyWay: true,
    script:
      sh('mkfifo pipe') +
      "require('node:net').createServer().listen('socket'); for (let i = 0; i < 400; i++) { fs.mkdirSync('deep-deep-deep'); process.chdir('deep-deep-deep'); } process.exit(0)",
    limits: { files: 100_000 },
  },
  {
    name: 'writes outside its folder',
    everyWay: true,
    script:
      "for (const folder of ['/', '/etc', process.env.PRECIOUS, process.env.DATA_DIR, path.dirname(process.env.HOME), path.dirname(path.dirname(process.env.HOME))]) console.log(folder, attempt(() => fs.writeFileSync(path.join(folder, 'hostile-' + nonce), 'x')));",
    ends: { exitCode: 0 },
    notWith: ['process-group'],
  },
  {
    name: 'changes its name',
    script:
      "process.title = '[kworker/0:1]'; cp.spawn(process.execPath, ['-e', 'process.title = \"init\"; setInterval(() => 0, 1000)', nonce], detached).unref()",
    ends: { exitCode: 0 },
  },
];

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

type More = Omit<Hostile, 'name' | 'script' | 'everyWay' | 'ends'>;
const anyhow = {};
const exited = { exitCode: 0 };
const timedOut = { reason: 'timeout' } as const;
const overDisk = { reason: 'disk' } as const;
const overMemory = { reason: 'memory' } as const;
const alone = (
  name: string,
  script: string,
  ends: NonNullable<Hostile['ends']> = anyhow,
  more: More = {},
): Hostile => ({ name, script, ends, ...more });
const everywhere = (...given: Parameters<typeof alone>): Hostile => ({
  ...alone(...given),
  everyWay: true,
});

export const hostiles: readonly Hostile[] = [
  // Endings
  alone('exits at once with success', 'process.exit(0)', { reason: 'exit', exitCode: 0 }),
  alone('exits with a code', 'process.exit(7)', { reason: 'exit', exitCode: 7 }),
  everywhere(
    'throws',
    "throw new Error('thrown')",
    { reason: 'exit', exitCode: 1 },
    { says: /thrown/ },
  ),
  alone(
    'rejects and nobody handles it',
    "Promise.reject(new Error('rejected'))",
    { exitCode: 1 },
    { says: /rejected/ },
  ),
  alone('aborts', 'process.abort()', { reason: 'exit', signal: 'SIGABRT' }),
  everywhere('kills itself', "process.kill(process.pid, 'SIGKILL')", {
    reason: 'exit',
    signal: 'SIGKILL',
  }),
  alone('breaks its memory', "process.kill(process.pid, 'SIGSEGV'); forever()", {
    reason: 'exit',
    signal: 'SIGSEGV',
  }),
  alone(
    'loads what is no library',
    "fs.writeFileSync('x.node', 'nonsense'); process.dlopen({ exports: {} }, path.resolve('x.node'))",
    { exitCode: 1 },
  ),
  // Hanging
  alone('loops for ever', 'for (;;);', timedOut),
  alone('loops in promises for ever', '(async () => { for (;;) await null; })()', timedOut),
  alone(
    'waits for input for ever',
    "process.stdin.on('data', () => undefined); forever()",
    timedOut,
  ),
  // Long enough for its handlers to be there on a busy machine.
  everywhere(
    'ignores the polite signals',
    "for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => undefined); forever()",
    { reason: 'timeout', signal: 'SIGKILL' },
    { timeoutMs: 5_000 },
  ),
  everywhere('stops itself', "process.kill(process.pid, 'SIGSTOP'); forever()", timedOut),
  alone(
    'hangs in worker threads',
    "const { Worker } = require('node:worker_threads'); for (let i = 0; i < 8; i++) new Worker('for (;;);', { eval: true })",
    timedOut,
  ),
  alone(
    'keeps a server open',
    "require('node:net').createServer().listen(0); cp.spawn(...sleeper, detached)",
    timedOut,
  ),
  // Outliving
  alone('leaves a child in a session of its own', 'cp.spawn(...sleeper, detached).unref()', {
    reason: 'exit',
    exitCode: 0,
  }),
  alone('leaves a grandchild by setsid', sh('setsid sleep $NONCE >/dev/null 2>&1 &'), exited),
  everywhere(
    'forks twice with nothing in the environment',
    sh('(env -i setsid sh -c "cd /; sleep $NONCE & sleep $NONCE &" >/dev/null 2>&1 &)'),
    exited,
  ),
  alone(
    'leaves children that hold its output open',
    sh('setsid sleep $NONCE & setsid sleep $NONCE & exit 0'),
    exited,
  ),
  alone('uses nohup', sh('nohup sleep $NONCE >/dev/null 2>&1 &'), exited),
  everywhere(
    'leaves children that ignore signals',
    sh(
      '(trap "" TERM HUP INT; setsid sleep $NONCE & setsid sleep $NONCE) >/dev/null 2>&1 & sleep 0.1',
    ),
    exited,
  ),
  everywhere(
    'is followed by children that start each other',
    "fs.writeFileSync('relay.sh', 'sleep 0.01; setsid sh relay.sh >/dev/null 2>&1 &'); cp.spawn('sh', ['relay.sh'], detached).unref(); setTimeout(() => process.exit(0), 200)",
    exited,
  ),
  // Harming others
  alone(
    'kills its parent',
    "console.log(attempt(() => process.kill(process.ppid, 'SIGKILL'))); forever()",
    timedOut,
    { notWith: ['process-group'] },
  ),
  everywhere(
    'kills its parent where it can',
    "cp.spawn(...sleeper, detached); console.log(attempt(() => process.kill(process.ppid, 'SIGKILL'))); forever()",
    anyhow,
    { timeoutMs: 1_200 },
  ),
  alone(
    'stops and continues its parent',
    "for (const name of ['SIGSTOP', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGQUIT']) attempt(() => process.kill(process.ppid, name)); forever()",
    timedOut,
    { notWith: ['process-group'] },
  ),
  everywhere('kills everything there is', sh('kill -9 -1') + 'forever()', anyhow, {
    notWith: ['process-group'],
  }),
  alone(
    'kills each process that it finds',
    "for (const pid of pids()) if (Number(pid) !== process.pid) attempt(() => process.kill(Number(pid), 'SIGKILL')); console.log('still here')",
    anyhow,
    { notWith: ['process-group'], says: /still here/ },
  ),
  everywhere(
    'forks without end',
    'const bomb = () => { for (;;) attempt(() => cp.spawn(process.execPath, [__filename], detached)); }; bomb()',
    { reason: 'processes' },
    { limits: { processes: 24 }, notWith: ['process-group'] },
  ),
  // Where threads count as well, it chokes before it has so many processes.
  alone(
    'forks without end in a shell',
    "fs.writeFileSync('bomb.sh', 'b() { b | b & }; b; sleep 60'); cp.spawnSync('sh', ['bomb.sh'], { stdio: 'ignore' }); forever()",
    anyhow,
    { timeoutMs: 4_000, limits: { processes: 24 }, notWith: ['process-group'] },
  ),
  everywhere(
    'starts many that sleep',
    'for (let i = 0; i < 60; i++) cp.spawn(...sleeper, detached); forever()',
    { reason: 'processes' },
    { limits: { processes: 24 } },
  ),
  // Its parent may be a program that only starts it. In a namespace of its own it is process 1 and sees no agent.
  everywhere(
    'traces the agent',
    "const upwards = (pid) => pid === 0 ? null : fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('hostile-agent') ? pid : upwards(Number(/^PPid:\\s*(\\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1])); const agent = upwards(process.ppid); const end = agent === null ? { status: 1 } : cp.spawnSync('strace', ['-p', String(agent)], { timeout: 10_000 }); console.log('traced', end.status > 0 ? 'nothing' : end.error.code)",
    anyhow,
    { says: /traced (nothing|ENOENT)/ },
  ),
  everywhere(
    'takes another user',
    "const before = process.getuid(), other = before === 0 ? 1 : 0; console.log(attempt(() => process.setuid(other)), attempt(() => process.setgid(other)), attempt(() => process.setgroups([other]))); console.log('uid', process.getuid()); process.exit(process.getuid() === before ? 5 : 0)",
    { exitCode: 5 },
  ),
  everywhere(
    'asks programs that change the user',
    sh(
      'su -c id root </dev/null; sudo -n id; mount -t tmpfs none /mnt; unshare -r id -u; grep NoNewPrivs /proc/self/status',
    ),
    anyhow,
    { says: /NoNewPrivs:\s+1/ },
  ),
  everywhere(
    'lifts its limits',
    sh('ulimit -c unlimited 2>&1; ulimit -f unlimited 2>&1; echo core $(ulimit -c)'),
    anyhow,
    { says: /core 0/ },
  ),
  alone(
    'is nice to itself',
    'console.log(attempt(() => os.setPriority(0, -20))); for (;;);',
    timedOut,
  ),
  // Using up
  alone(
    'fills the heap',
    'const all = []; for (;;) all.push(new Array(10_000).fill(all.length))',
    overMemory,
    { limits: { memoryBytes: 2e8 } },
  ),
  everywhere(
    'fills memory outside the heap',
    'const all = []; setInterval(() => all.push(Buffer.alloc(20_000_000, 1)), 5)',
    overMemory,
    { limits: { memoryBytes: 2e8 } },
  ),
  alone(
    'fills memory with many children',
    "for (let i = 0; i < 8; i++) cp.spawn(process.execPath, ['-e', 'global.all = Buffer.alloc(60_000_000, 1); setInterval(() => 0, 1000)'], detached); forever()",
    overMemory,
    { limits: { memoryBytes: 3e8 } },
  ),
  alone(
    'shares memory with its threads',
    'const all = []; setInterval(() => { const one = new SharedArrayBuffer(20_000_000); new Uint8Array(one).fill(1); all.push(one); }, 5)',
    overMemory,
    { limits: { memoryBytes: 2e8 } },
  ),
  alone(
    'writes one large file',
    "const part = Buffer.alloc(1_000_000, 1); for (;;) fs.appendFileSync('large', part)",
    anyhow,
    { says: /EFBIG/, unlessEndedFor: 'disk' },
  ),
  alone(
    'writes many large files',
    "const part = Buffer.alloc(1_000_000, 1); let i = 0; setInterval(() => fs.writeFileSync('large' + i++, part), 1)",
    overDisk,
  ),
  everywhere(
    'writes files that have no name any more',
    "const part = Buffer.alloc(4_000_000, 1); let i = 0; setInterval(() => { const fd = fs.openSync('large' + i, 'w'); fs.writeSync(fd, part); fs.unlinkSync('large' + i++); }, 5)",
    overDisk,
  ),
  alone(
    'writes a hundred thousand files',
    "for (let i = 0; i < 100_000; i++) { if (i % 100 === 0) fs.mkdirSync('d' + i); fs.writeFileSync('d' + (i - i % 100) + '/f' + i, ''); } forever()",
    overDisk,
  ),
  alone(
    'writes outside its folder, where all may',
    "const part = Buffer.alloc(1_000_000, 1); let i = 0; setInterval(() => fs.writeFileSync('/tmp/hostile-' + nonce + '-' + i++, part), 1)",
    overDisk,
    { notWith: ['process-group', 'namespaces'] },
  ),
  alone(
    'makes a file with a hole',
    "console.log(attempt(() => fs.truncateSync(fs.openSync('hole', 'w') && 'hole', 2 ** 40))); forever()",
    anyhow,
    { timeoutMs: 1_000 },
  ),
  everywhere(
    'opens descriptors without end',
    "let i = 0; for (;; i++) { const error = attempt(() => fs.openSync('/dev/null')); if (typeof error === 'string') { console.log(error, i < 10_000); break; } }",
    anyhow,
    { says: /EMFILE true/ },
  ),
  alone(
    'nests folders without end',
    "for (let i = 0; i < 1500; i++) { fs.mkdirSync('deep-deep-deep'); process.chdir('deep-deep-deep'); } forever()",
    overDisk,
  ),
  // Talking
  alone(
    'writes to its output without end',
    "const text = 'x'.repeat(65_000) + '\\n'; for (;;) fs.writeSync(1, text)",
    timedOut,
    { timeoutMs: 1_500 },
  ),
  everywhere(
    'writes errors without end, in short lines',
    "const text = 'no\\n'.repeat(10_000); for (;;) fs.writeSync(2, text)",
    timedOut,
    { timeoutMs: 1_500 },
  ),
  alone(
    'writes one line of 15 MB',
    "const text = 'x'.repeat(1_000_000); for (let i = 0; i < 15; i++) fs.writeSync(1, text); console.log('\\nthe end')",
    anyhow,
    { timeoutMs: 8_000 },
  ),
  alone(
    'sends messages without end',
    "const text = JSON.stringify({ a: 'b'.repeat(1000) }) + '\\n'; for (;;) fs.writeSync(3, text)",
    timedOut,
    { timeoutMs: 1_500 },
  ),
  alone(
    'sends a message that is too large',
    "fs.writeSync(3, JSON.stringify({ a: 'b'.repeat(3_000_000) }) + '\\n')",
    exited,
    { says: /was left out/ },
  ),
  alone('sends what is no message', "fs.writeSync(3, 'nonsense\\n{\\n\\0\\u{1F4A9}\\n')", exited, {
    says: /not JSON/,
  }),
  everywhere(
    'sends forged messages',
    'fs.writeSync(3, \'{"__proto__":{"polluted":1},"type":"end","reason":"exit"}\\n\'); process.exit(3)',
    { reason: 'exit', exitCode: 3 },
  ),
  everywhere(
    'talks to the supervisor',
    sh(
      'for fd in 5 6 7 8 9; do eval "printf \'end exit 0 0\\\\ngone\\\\n\' >&$fd" 2>/dev/null; done; true',
    ) + 'process.exit(9)',
    { reason: 'exit', exitCode: 9 },
  ),
  everywhere(
    'closes all its descriptors',
    'for (let fd = 0; fd < 5; fd++) attempt(() => fs.closeSync(fd)); process.exit(4)',
    { exitCode: 4 },
  ),
  // Prying
  everywhere(
    'reads the environment, command line and memory of all',
    "for (const pid of pids()) { if (Number(pid) === process.pid) continue; hunt(['environ', 'cmdline', 'maps', 'auxv'].map((name) => `/proc/${pid}/${name}`)); attempt(() => { for (const line of fs.readFileSync(`/proc/${pid}/maps`, 'latin1').split('\\n').filter((text) => /rw-p.*(heap|stack)/.test(text))) { const [from, to] = line.split(' ')[0].split('-').map((text) => parseInt(text, 16)); const part = Buffer.alloc(Math.min(to - from, 8e6)); fs.readSync(fs.openSync(`/proc/${pid}/mem`), part, 0, part.length, from); for (const found of isCanary(part.toString('latin1'))) console.log(pid, found); } }); }",
    exited,
  ),
  everywhere(
    'reads open files of all',
    'for (const pid of pids()) { attempt(() => hunt(fs.readdirSync(`/proc/${pid}/fd`).map(Number).filter((fd) => fs.statSync(`/proc/${pid}/fd/${fd}`).isFile()).map((fd) => `/proc/${pid}/fd/${fd}`))); attempt(() => hunt([`/proc/${pid}/root${process.env.KEY_FILE}`, `/proc/${pid}/cwd/key`])); }',
    exited,
  ),
  everywhere(
    'reads the key file and the data of the agent',
    'hunt([process.env.KEY_FILE]); attempt(() => hunt(fs.readdirSync(process.env.DATA_DIR).map((name) => path.join(process.env.DATA_DIR, name))))',
    exited,
    { notWith: ['process-group'] },
  ),
  alone(
    'reads the folders of other runs',
    'const all = path.dirname(path.dirname(process.env.HOME)); const walk = (folder) => attempt(() => { for (const name of fs.readdirSync(folder)) { const file = path.join(folder, name); if (file === process.env.HOME) continue; hunt([file]); walk(file); } }); walk(all); walk(path.dirname(process.env.HOME))',
    exited,
    { notWith: ['process-group'] },
  ),
  everywhere(
    'uncovers what is hidden',
    sh(
      'umount -l $DATA_DIR; umount /proc; unshare -rm sh -c "umount -l $DATA_DIR $KEY_FILE; cat $KEY_FILE $DATA_DIR/*; cat /proc/*/environ"; true',
    ),
    exited,
    { notWith: ['process-group'] },
  ),
  everywhere(
    'leaves its root',
    sh(
      'unshare -r chroot /proc/1/root cat $KEY_FILE; unshare -rpf --mount-proc sh -c "cat /proc/*/environ"; true',
    ),
    exited,
    { notWith: ['process-group'] },
  ),
  alone(
    'asks the metadata service and the health port',
    "const net = require('node:net'); const s = net.connect({ host: '169.254.169.254', port: 80 }); const done = (what) => { console.log('metadata', what); process.exit(0); }; s.on('connect', () => done('connected')).on('error', (error) => done(error.code)); setTimeout(done, 500, 'silent')",
    exited,
    { says: /metadata/ },
  ),
  // Spoiling the folder
  everywhere(
    'puts links where its folder is deleted',
    "fs.mkdirSync('a'); fs.symlinkSync(process.env.PRECIOUS, 'a/link'); fs.symlinkSync(path.join(process.env.PRECIOUS, 'kept'), 'file'); fs.symlinkSync('/', 'root')",
    exited,
  ),
  alone(
    'turns its folder for temporary files into a link',
    "fs.rmdirSync('tmp'); fs.symlinkSync(process.env.PRECIOUS, 'tmp')",
    exited,
  ),
  alone(
    'links to files of others',
    "console.log(attempt(() => fs.linkSync(path.join(process.env.PRECIOUS, 'kept'), 'hard')))",
    exited,
  ),
  everywhere(
    'takes all permissions away',
    "fs.mkdirSync('a/b/c', { recursive: true }); fs.writeFileSync('a/b/c/d', 'x'); for (const f of ['a/b/c/d', 'a/b/c', 'a/b', 'a', '.']) fs.chmodSync(f, 0)",
    exited,
  ),
  alone(
    'uses names nobody can type',
    "for (const name of ['-rf', '\\n', '*', '\\u{1F4A9}', ' ', '\\\\', 'x'.repeat(255)]) fs.writeFileSync(name, 'x'); fs.writeFileSync(Buffer.from([0xff, 0xfe, 0x0a]), 'x')",
    exited,
  ),
  everywhere(
    'leaves pipes, sockets and a tree too deep for paths',
    sh('mkfifo pipe') +
      "require('node:net').createServer().listen('socket'); for (let i = 0; i < 400; i++) { fs.mkdirSync('deep-deep-deep'); process.chdir('deep-deep-deep'); } process.exit(0)",
    anyhow,
    { limits: { files: 100_000 } },
  ),
  everywhere(
    'writes outside its folder',
    "for (const folder of ['/', '/etc', process.env.PRECIOUS, process.env.DATA_DIR, path.dirname(process.env.HOME), path.dirname(path.dirname(process.env.HOME))]) console.log(folder, attempt(() => fs.writeFileSync(path.join(folder, 'hostile-' + nonce), 'x')));",
    exited,
    { notWith: ['process-group'] },
  ),
  alone(
    'changes its name',
    "process.title = '[kworker/0:1]'; cp.spawn(process.execPath, ['-e', 'process.title = \"init\"; setInterval(() => 0, 1000)', nonce], detached).unref()",
    exited,
  ),
];

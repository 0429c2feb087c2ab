/**
 * Echo requests while system calls fail, as a program to be started in a network of its own, whose
 * ping_group_range decides the way: prints what became of each fault, as JSON by name.
 */
import { constants } from 'node:os';
import { systemClock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../agent/errors.ts';
import type { Libc } from '../../agent/native/libc.ts';
import type { EchoReply, IcmpTransport } from '../../agent/net/icmp/icmp.ts';
import { openIcmp } from '../../agent/net/icmp/open-icmp.ts';
import { faultyLibc, realLibc, type FaultyLibc } from './faulty-libc.ts';
import { seededRandom } from './random.ts';

const targets = [
  { address: '127.0.0.1', family: 'IPv4' },
  { address: '::1', family: 'IPv6' },
] as const;
/** Replies on loopback come at once; no machine is so slow. */
const patientMs = 60_000;
const shortMs = 300;

const summary = ({ success, type, ttl }: EchoReply): string =>
  success ? `reply${ttl === null ? '' : ` ttl ${ttl}`}` : `lost${type === null ? '' : ` ${type}`}`;

/** One word for both families and both requests when all went alike. */
async function ask(icmp: IcmpTransport, timeoutMs: number): Promise<string> {
  const all: string[] = [];
  for (const target of targets) {
    try {
      const signal = new AbortController().signal;
      const given = { count: 2, intervalMs: 20, timeoutMs, signal };
      all.push(...(await icmp.echo({ ...target, ...given })).map(summary));
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      all.push(`${error.code} ${/\((?:\w+: )?(\w+)\)/.exec(error.message)?.[1]}`);
    }
  }
  return [...new Set(all)].join(', ');
}

/** A call that fails, always or so many times. */
interface Fault {
  call: keyof Libc;
  error: keyof typeof constants.errno;
  times?: number;
}

function libcWith(fault: Fault | null, real = realLibc()): FaultyLibc {
  const times = fault?.times ?? Number.POSITIVE_INFINITY;
  return faultyLibc(
    (call, before) =>
      fault?.call === call && before < times ? -constants.errno[fault.error] : null,
    real,
  );
}

async function tried({ libc, open }: FaultyLibc, ms = patientMs): Promise<string> {
  const { icmp } = openIcmp({ PATH: '/nowhere' }, systemClock, { libc });
  if (icmp === null) return `not opened, ${open.size} left`;
  const first = await ask(icmp, ms);
  const again = await ask(icmp, ms);
  icmp.close();
  return `${first}; then ${again}; ${open.size} left`;
}

const withFault =
  (fault: Fault | null, ms = patientMs) =>
  (): Promise<string> =>
    tried(libcWith(fault), ms);

/** Random bytes and control data in place of what the kernel gives. */
function hostile(): Promise<string> {
  const real = realLibc();
  const random = seededRandom(7);
  const bytesAt = (address: bigint, length: number): Buffer => real.view(address, length);
  let messages = 0;
  return tried(
    libcWith(null, {
      ...real,
      recvmsg(descriptor, header, flags) {
        if ((messages += 1) > 20_000) return real.recvmsg(descriptor, header, flags);
        const vector = bytesAt(header.readBigUInt64LE(16), 16);
        const length = Math.floor(random() * 200);
        const data = bytesAt(vector.readBigUInt64LE(0), length);
        for (let at = 0; at < length; at += 1) data[at] = Math.floor(random() * 256);
        // Those that seem to be replies and errors get further.
        if (length > 0) data[0] = [0, 3, 11, 129, 1, 0x45][Math.floor(random() * 6)] ?? 0;
        const control = bytesAt(header.readBigUInt64LE(32), 64);
        for (let at = 0; at < 64; at += 1) control[at] = Math.floor(random() * 256);
        control.writeBigUInt64LE(BigInt(16 + Math.floor(random() * 60)), 0);
        control.writeInt32LE([0, 1, 41][Math.floor(random() * 3)] ?? 0, 8);
        control.writeInt32LE([2, 11, 25, 35, 52][Math.floor(random() * 5)] ?? 0, 12);
        header.writeBigUInt64LE(BigInt(Math.floor(random() * 100)), 40);
        return length;
      },
    }),
    2_000,
  );
}

/** The descriptors are closed by somebody else between two series. */
async function closedDescriptors(): Promise<string> {
  const { libc, open } = libcWith(null);
  const { icmp } = openIcmp({ PATH: '/nowhere' }, systemClock, { libc });
  if (icmp === null) return 'not opened';
  const first = await ask(icmp, patientMs);
  for (const descriptor of open) realLibc().close(descriptor);
  const second = await ask(icmp, patientMs);
  const third = await ask(icmp, patientMs);
  icmp.close();
  return [first, second, third].join('; then ');
}

/** While the event loop is blocked, the kernel has the reply; its round trip is not longer for that. */
async function lateLoop(): Promise<string> {
  const { icmp } = openIcmp({ PATH: '/nowhere' });
  if (icmp === null) return 'not opened';
  await ask(icmp, patientMs);
  const blockedMs = 2_000;
  const found: boolean[] = [];
  for (const target of targets) {
    const signal = new AbortController().signal;
    // The time limit is over as well when the loop runs again.
    const waiting = icmp.echo({ ...target, count: 1, intervalMs: 0, timeoutMs: 1, signal });
    const until = performance.now() + blockedMs;
    while (performance.now() < until);
    const [reply] = await waiting;
    found.push(reply?.rtt != null && reply.rtt > 0 && reply.rtt < blockedMs / 2);
  }
  icmp.close();
  return found.join(', ');
}

/** How often one process is woken for the echoes of another one. */
async function others(): Promise<string> {
  let received = 0;
  const real = realLibc();
  const quiet = openIcmp({ PATH: '/nowhere' }, systemClock, {
    libc: {
      ...real,
      recvmsg: (...given) => {
        received += 1;
        return real.recvmsg(...given);
      },
    },
  });
  const busy = openIcmp({ PATH: '/nowhere' });
  if (quiet.icmp === null || busy.icmp === null) return 'not opened';
  await ask(quiet.icmp, patientMs);
  const own = received;
  for (let round = 0; round < 20; round += 1) await ask(busy.icmp, patientMs);
  const more = received - own;
  quiet.icmp.close();
  busy.icmp.close();
  return `${more} times`;
}

/** The wall clock is an hour further at every look. */
async function wallClockJumps(): Promise<string> {
  const real = realLibc();
  let looks = 0;
  const libc: Libc = {
    ...real,
    clock_gettime(clock, time) {
      const result = real.clock_gettime(clock, time);
      time.writeBigInt64LE(time.readBigInt64LE(0) + BigInt((looks += 1) * 3_600), 0);
      return result;
    },
  };
  const { icmp } = openIcmp({ PATH: '/nowhere' }, systemClock, { libc });
  const start = performance.now();
  const signal = new AbortController().signal;
  const given = { count: 1, intervalMs: 0, timeoutMs: patientMs, signal };
  const replies = await icmp?.echo({ address: '127.0.0.1', family: 'IPv4', ...given });
  const rtt = replies?.[0]?.rtt ?? -1;
  icmp?.close();
  return String(rtt > 0 && rtt < performance.now() - start);
}

const send = (error: Fault['error'], times?: number) =>
  withFault({ call: 'sendto', error, ...(times === undefined ? {} : { times }) });

const scenarios: Record<string, () => Promise<string>> = {
  none: withFault(null),
  'socket EMFILE': withFault({ call: 'socket', error: 'EMFILE' }),
  'socket EAFNOSUPPORT but for IPv4': () => {
    const real = realLibc();
    return tried(
      libcWith(null, {
        ...real,
        socket: (domain, type, protocol) =>
          domain === 10 ? -constants.errno.EAFNOSUPPORT : real.socket(domain, type, protocol),
      }),
    );
  },
  'setsockopt EPERM': withFault({ call: 'setsockopt', error: 'EPERM' }),
  'epoll_create1 EMFILE': withFault({ call: 'epoll_create1', error: 'EMFILE' }),
  'epoll_ctl ENOMEM': withFault({ call: 'epoll_ctl', error: 'ENOMEM' }),
  'epoll_wait EINTR': withFault({ call: 'epoll_wait', error: 'EINTR' }, shortMs),
  'sendto EAGAIN, three times': send('EAGAIN', 3),
  ...{ 'sendto EAGAIN': send('EAGAIN'), 'sendto EPERM': send('EPERM') },
  ...{ 'sendto ENOBUFS': send('ENOBUFS'), 'sendto ENETUNREACH': send('ENETUNREACH') },
  'sendto EHOSTUNREACH': send('EHOSTUNREACH'),
  'sendto EHOSTUNREACH, three times': send('EHOSTUNREACH', 3),
  'sendto EBADF, once': send('EBADF', 1),
  'sendto, 3 bytes': () => tried(libcWith(null, { ...realLibc(), sendto: () => 3 })),
  'recvmsg ENOMEM, once': withFault({ call: 'recvmsg', error: 'ENOMEM', times: 1 }),
  'recvmsg EBADF': withFault({ call: 'recvmsg', error: 'EBADF' }),
  'recvmsg EHOSTUNREACH, once': withFault({ call: 'recvmsg', error: 'EHOSTUNREACH', times: 1 }),
  'clock_gettime EINVAL': withFault({ call: 'clock_gettime', error: 'EINVAL' }),
  'close EIO': withFault({ call: 'close', error: 'EIO' }),
  'recvmsg, 5 bytes': () => {
    const real = realLibc();
    const recvmsg: Libc['recvmsg'] = (...given) => Math.min(5, real.recvmsg(...given));
    return tried(libcWith(null, { ...real, recvmsg }), shortMs);
  },
  ...{ 'hostile messages': hostile, 'closed descriptors': closedDescriptors },
  ...{ 'a late event loop': lateLoop, 'echoes of others': others },
  'a wall clock that jumps': wallClockJumps,
};

const outcomes: Record<string, string> = {};
for (const [name, scenario] of Object.entries(scenarios)) outcomes[name] = await scenario();
console.log(JSON.stringify(outcomes));
process.exit();

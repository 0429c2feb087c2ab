/** What `doctor` can say about this machine without asking anybody. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';
import type { AgentConfig } from '../config.ts';
import type { NetworkAccess } from '../runners/runner.ts';
import { version } from '../version.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const mebibyte = 1_048_576;
const fewDescriptors = 1_024;

export function checkVersions(): Finding {
  return ok(
    'versions',
    `monitor-agent ${version}, protocol ${protocolVersion}, Node ${process.versions.node}, ${process.platform} ${release()} ${process.arch}`,
  );
}

export function checkDataDirectory(config: AgentConfig): Finding {
  const directory = config.AGENT_DATA_DIR;
  const probe = join(directory, `.doctor-${randomUUID()}`);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(probe, 'probe', { mode: 0o600 });
    rmSync(probe);
  } catch (error) {
    return fail(
      'data directory',
      `${directory} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
      `make ${directory} writable for uid ${process.getuid?.() ?? 'of the agent'}, or name another folder with AGENT_DATA_DIR`,
    );
  }
  const { bavail, bsize } = statfsSync(directory);
  const freeBytes = bavail * bsize;
  const evidence = `${directory} is writable, ${Math.floor(freeBytes / mebibyte)} MiB free`;
  return freeBytes < config.OUTBOX_MAX_BYTES
    ? warn(
        'data directory',
        evidence,
        `an outage may need up to ${Math.floor(config.OUTBOX_MAX_BYTES / mebibyte)} MiB; make room or lower OUTBOX_MAX_BYTES`,
      )
    : ok('data directory', evidence);
}

export function checkIcmp(network: NetworkAccess): Finding {
  if (network.icmp === null) {
    return fail(
      'icmp',
      network.icmpProblem ?? 'echo requests cannot be sent',
      'see the evidence; only ICMP monitors are affected',
    );
  }
  const ways = {
    datagram: 'an unprivileged ICMP socket',
    relay: 'a raw socket held by a small relay process (CAP_NET_RAW)',
    ping: 'the ping program: works, at the cost of a process each',
  };
  return ok('icmp', `echo requests go out by ${ways[network.icmp.way]}`);
}

export function checkDescriptors(): Finding {
  let limit: number;
  try {
    const line = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    if (line?.[1] === undefined) throw new Error('no such line');
    limit = Number(line[1]);
  } catch {
    return ok('file descriptors', 'the limit is not known on this platform');
  }
  return limit < fewDescriptors
    ? warn(
        'file descriptors',
        `at most ${limit} open files`,
        `raise the limit to ${fewDescriptors} or more (ulimit -n, LimitNOFILE), or lower UPTIME_CONCURRENCY`,
      )
    : ok('file descriptors', `at most ${limit} open files`);
}

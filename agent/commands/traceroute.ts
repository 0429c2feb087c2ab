import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { InvalidArgumentError, type Command } from 'commander';
import { AgentError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { resolveByOs } from '../net/dns/resolve.ts';
import { tracerouteText } from '../net/traceroute/text.ts';
import { openTraceroute, type TracedTarget } from '../net/traceroute/traceroute.ts';
import { tracerouteTarget } from './traceroute-argument.ts';

const examples = `
With a port it connects by TCP, as a check does, and goes over to UDP when
nobody answers TCP. Without one it sends UDP to the ports from 33434 on. It
needs no root and no capability.

Examples:
  monitor-agent traceroute shop.internal:443
  monitor-agent traceroute https://shop.internal/cart
  monitor-agent traceroute -6 db.internal:5432
  monitor-agent traceroute [fd00::17]:5432
  monitor-agent traceroute 10.20.30.40              by UDP
  monitor-agent traceroute 10.20.30.40:443 --json   for programs

Reading it: loss at one hop that the hops behind it do not have is a router that
answers rarely, and harmless. Loss from one hop on to the end is real. Silence
from one hop on to the end is a drop there, or a firewall that says nothing.

Exit codes: 0 the target answered, 1 it did not, also where nobody on the way
was heard at all (that was measured, and is what a firewall that says nothing
looks like), 2 the way could not be traced.
`;

interface Options {
  readonly '4'?: boolean;
  readonly '6'?: boolean;
  readonly udp?: boolean;
  readonly json?: boolean;
  readonly timeout: number;
}

function familiesOf(options: Options): IpFamily[] {
  if (options[4] === options[6]) return ['IPv4', 'IPv6'];
  return [options[6] === true ? 'IPv6' : 'IPv4'];
}

async function resolveTarget(argument: string, options: Options): Promise<TracedTarget> {
  const { host, port: given, family: literal } = tracerouteTarget(argument);
  const port = options.udp === true ? null : given;
  const families = familiesOf(options);
  if (literal !== null) {
    if (families.includes(literal)) return { address: host, family: literal, port };
    throw new AgentError('CONFIG_INVALID', `${host} is not an ${families.join()} address`);
  }
  let why = '';
  for (const family of families) {
    const resolution = await resolveByOs(host, family);
    if ('address' in resolution) return { ...resolution.address, port };
    why = resolution.failure.message;
  }
  throw new AgentError('CONFIG_INVALID', `${host} has no address to trace the way to: ${why}`);
}

function seconds(text: string): number {
  const value = Number(text);
  if (value >= 1 && value <= 60) return value;
  throw new InvalidArgumentError('give seconds, from 1 to 60.');
}

/** `monitor-agent traceroute`: the way to a target, as the evidence of a failed check shows it. */
export function registerTraceroute(program: Command): void {
  program
    .command('traceroute')
    .description('trace the route to a target, with loss and times per hop')
    .argument('<target>', 'host, host:port or URL')
    .option('-4', 'by IPv4 only')
    .option('-6', 'by IPv6 only')
    .option('--udp', 'send UDP even where a port is given')
    .option('--timeout <seconds>', 'end after this time with what is known', seconds, 6)
    .option('--json', 'print JSON')
    .addHelpText('after', examples)
    .action(async (argument: string, options: Options) => {
      const opened = await openTraceroute();
      if (opened.traceroute === null)
        throw new AgentError('TRACEROUTE_UNAVAILABLE', opened.problem);
      await using traceroute = opened.traceroute;
      const cancellation = new AbortController();
      process.once('SIGINT', () => cancellation.abort());
      const target = await resolveTarget(argument, options);
      if (process.stderr.isTTY) {
        process.stderr.write(`Tracing the way to ${target.address} (Ctrl-C ends it)\n`);
      }
      const report = await traceroute.trace(target, {
        timeoutMs: options.timeout * 1000,
        signal: cancellation.signal,
      });
      if (options.json === true) console.log(JSON.stringify(report, null, 2));
      else process.stdout.write(tracerouteText(report));
      if (cancellation.signal.aborted) process.exitCode = exitCodes.interrupted;
      else process.exitCode = report.isReached ? exitCodes.ok : exitCodes.failed;
    });
}

/** A connection, and a conversation by lines, as the `tcp` prober makes them. */
import { holdDialogue, nothingAwaited, type DialogueTurn } from '../net/tcp/dialogue.ts';
import { chooseAddress } from './choose-address.ts';
import type { TcpModule } from './module-schema.ts';
import { reportAddress, reportRegex, type ProbeReport } from './report.ts';
import type { ProbeSurroundings } from './surroundings.ts';
import { reportTls, secureContextFor } from './tls-facts.ts';

/** `host:port`, `[v6]:port`; null for what is not that. */
function hostAndPort(text: string): { host: string; port: number } | null {
  const match = /^(?:\[(?<v6>[^\]]+)\]|(?<host>[^:[\]]+)):(?<port>\d{1,5})$/.exec(text);
  const host = match?.groups?.['v6'] ?? match?.groups?.['host'];
  const port = Number(match?.groups?.['port']);
  return host !== undefined && port >= 1 && port <= 65_535 ? { host, port } : null;
}

/** `$1`, `${1}`, `$$` of a text by what a pattern captured. */
function expand(template: string, captured: readonly string[]): string {
  return template.replace(/\$(?:(\$)|\{(\d+)\}|(\d+))/g, (_all, dollar, braced, plain) => {
    if (dollar !== undefined) return '$';
    return captured[Number(braced ?? plain)] ?? '';
  });
}

function turnsOf(module: TcpModule, report: ProbeReport): DialogueTurn[] {
  return module.query_response.map(({ expect, send, starttls }): DialogueTurn => {
    let captured: string[] = [];
    return {
      awaits:
        expect === undefined
          ? null
          : (line) => {
              const matcher = expect.matcher(line);
              if (!matcher.find()) return false;
              report.note('the line that was waited for has come');
              captured = Array.from(
                { length: matcher.groupCount() + 1 },
                (_none, index) => matcher.group(index) ?? '',
              );
              return true;
            },
      says: () => (expect === undefined ? send : expand(send, captured)),
      startsTls: starttls,
    };
  });
}

/** Gives whether the probe succeeded. Throws an AgentError where the target is not the cause. */
export async function probeTcp(
  target: string,
  module: TcpModule,
  report: ProbeReport,
  surroundings: ProbeSurroundings,
): Promise<boolean> {
  const { clock, signal, timeoutMs, hostname } = surroundings;
  const begunAt = clock.monotonic();
  reportRegex(report, 0);
  const place = hostAndPort(target);
  if (place === null) {
    report.note('the target must be host:port');
    reportAddress(report, null, 0);
    return false;
  }
  const { address } = await chooseAddress(place.host, module, clock, report);
  if (address === null) return false;
  const failure = await holdDialogue({
    ...{ address, port: place.port, clock, signal, isTls: module.tls },
    timeoutMs: Math.max(1, timeoutMs - (clock.monotonic() - begunAt)),
    turns: turnsOf(module, report),
    tls: {
      secureContext: secureContextFor(module.tls_config),
      serverName: module.tls_config?.server_name ?? hostname ?? place.host,
      skipVerify: module.tls_config?.insecure_skip_verify ?? false,
      onSecure(socket) {
        reportTls(report, socket);
      },
    },
  });
  if (failure === null) return true;
  report.note(failure.message);
  if (failure.code === nothingAwaited) reportRegex(report, 1);
  return false;
}

import { isIPv6 } from 'node:net';
import { nearestWord } from '@monitor/shared/nearest-word.ts';

const schemes = ['https', 'http', 'tcp', 'dns', 'icmp'];
/** File names look like host names; these endings are never domains of a target. */
const fileEnding = /\.(json|jsonc|ya?ml|[cm]?[jt]s|txt)$/i;
const hostPort = /^(?:\[[0-9a-f:.]+\]|[a-z0-9][a-z0-9.-]*):\d{1,5}$/i;
const hostPath =
  /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]{1,63}(?::\d{1,5})?(?:[/?#].*)?$/i;

/**
 * The URL that was probably meant, for an argument without a scheme or with a misspelt one; null
 * otherwise.
 */
export function meantAddress(argument: string): string | null {
  const [, scheme, rest] = /^([a-z]+):\/\/(.+)$/i.exec(argument) ?? [];
  if (scheme !== undefined && rest !== undefined) {
    const nearest = nearestWord(scheme, schemes);
    return nearest === null ? null : `${nearest}://${rest}`;
  }
  if (isIPv6(argument)) return `icmp://[${argument}]`;
  if (hostPort.test(argument)) {
    if (argument.endsWith(':443')) return `https://${argument.slice(0, -':443'.length)}`;
    return argument.endsWith(':80') ? `http://${argument.slice(0, -3)}` : `tcp://${argument}`;
  }
  return hostPath.test(argument) && !fileEnding.test(argument) ? `https://${argument}` : null;
}

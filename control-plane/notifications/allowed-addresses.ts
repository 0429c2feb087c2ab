/**
 * Which addresses a notification may be sent to. Customers choose where their channels point; nothing
 * they write may make this process speak to itself, to its neighbours or to the metadata service of its
 * cloud. An address is good when it is one of the public internet, or one the operator has allowed.
 */
import ipaddr from 'ipaddr.js';
import { OperatorError } from '../errors/operator-error.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Says whether an address, as text, may be connected to. */
export type AddressRule = (address: string) => boolean;

/** The only part of IPv6 that is routed in public; what embeds IPv4 addresses lies outside or below. */
const publicIpv6 = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];
/** Answers virtual machines of one large cloud, from an address that looks public. */
const platformAddresses: ReadonlySet<string> = new Set(['168.63.129.16']);

function networkOf(text: string): Network {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.parse(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    throw new OperatorError(
      `OUTGOING_ALLOWED_NETWORKS: "${text}" is neither an address nor a network such as 10.20.0.0/16`,
      { usage: true },
    );
  }
}

/** Interface identifiers that carry an IPv4 address: ISATAP, within any prefix. */
function carriesIpv4(address: ipaddr.IPv6): boolean {
  const { parts } = address;
  return (parts[4] === 0 || parts[4] === 0x0200) && parts[5] === 0x5efe;
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return !platformAddresses.has(address.toString());
  const ipv6 = address as ipaddr.IPv6;
  return ipv6.match(publicIpv6) && !carriesIpv4(ipv6);
}

function isWithin(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network as never, bits);
}

/** The rule for a list of networks and addresses that are allowed besides the public ones. */
export function addressRule(allowedNetworks: string): AddressRule {
  const allowed = allowedNetworks
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map(networkOf);
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    // An IPv4 address in the clothes of IPv6 is judged as what is connected to in the end.
    const address = ipaddr.process(text);
    return isPublic(address) || allowed.some((network) => isWithin(address, network));
  };
}

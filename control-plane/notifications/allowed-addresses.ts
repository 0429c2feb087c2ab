/**
 * Egress rules for notifications. Customers choose the destinations of channels, and visitors of
 * status pages those of their webhooks, which must not reach this process, its network or the metadata service of its cloud. Public addresses and the
 * networks that the operator allows are permitted.
 */
import ipaddr from 'ipaddr.js';
import { usageError } from '../errors/operator-error.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Says whether an address, as text, may be connected to, and where the operator may allow more. */
export interface AddressRule {
  isAllowed(address: string): boolean;
  setting: AllowedNetworks;
}

/** Which private networks customers' channels may reach, and which the webhooks of visitors. */
type AllowedNetworks = 'OUTGOING_ALLOWED_NETWORKS' | 'SUBSCRIBER_ALLOWED_NETWORKS';

/** The globally routed part of IPv6; addresses that embed IPv4 lie outside of it or are checked below. */
const publicIpv6 = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];
/** Metadata service of a large cloud at an address that looks public. */
const platformAddresses: ReadonlySet<string> = new Set(['168.63.129.16']);

function networkOf(text: string, setting: AllowedNetworks): Network {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.parse(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    throw usageError(
      `${setting}: "${text}" is neither an address nor a network such as 10.20.0.0/16`,
    );
  }
}

/** True for interface identifiers that embed an IPv4 address: ISATAP, in any prefix. */
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

/** The rule for a list of networks and addresses that are allowed in addition. */
export function addressRule(
  allowedNetworks: string,
  setting: AllowedNetworks = 'OUTGOING_ALLOWED_NETWORKS',
): AddressRule {
  const allowed = allowedNetworks
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => networkOf(text, setting));
  const isAllowed = (text: string): boolean => {
    if (!ipaddr.isValid(text)) return false;
    // An IPv4-mapped IPv6 address is checked as the IPv4 address that is connected to.
    const address = ipaddr.process(text);
    return isPublic(address) || allowed.some((network) => isWithin(address, network));
  };
  return { isAllowed, setting };
}

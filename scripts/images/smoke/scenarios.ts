/** As whom, and with which rights, the images of the agent are tried. */
import { dockerCapabilities } from '../container.ts';

export interface Scenario {
  says: string;
  /** By default the user of the image. */
  user?: string;
  capabilities: readonly string[];
  /** `net.ipv4.ping_group_range`: Docker opens it in its containers, other engines may not. */
  pingRange: 'everybody' | 'nobody';
  hasUserNamespaces: boolean;
  icmp: 'datagram' | 'relay' | 'none';
}

export const pingRanges = { everybody: '0 2147483647', nobody: '1 0' };

export const scenarios: readonly Scenario[] = [
  {
    says: 'as it is',
    capabilities: [],
    pingRange: 'everybody',
    hasUserNamespaces: true,
    icmp: 'datagram',
  },
  {
    says: 'any user, no rights',
    user: '12345:12345',
    capabilities: [],
    pingRange: 'nobody',
    hasUserNamespaces: false,
    icmp: 'none',
  },
  {
    says: 'any user, NET_RAW',
    user: '23456:0',
    capabilities: ['net_raw'],
    pingRange: 'nobody',
    hasUserNamespaces: false,
    icmp: 'relay',
  },
  {
    says: 'root as in Docker',
    user: '0:0',
    capabilities: dockerCapabilities,
    pingRange: 'nobody',
    hasUserNamespaces: false,
    icmp: 'relay',
  },
  {
    says: 'root without NET_RAW',
    user: '0:0',
    capabilities: dockerCapabilities.filter((name) => name !== 'net_raw'),
    pingRange: 'nobody',
    hasUserNamespaces: false,
    icmp: 'none',
  },
];

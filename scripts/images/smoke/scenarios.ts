/** As whom, and with which rights, the images of the agent are tried. */
import { dockerCapabilities } from '../container.ts';

export interface Scenario {
  says: string;
  /** By default the user of the image. */
  user?: string;
  capabilities: readonly string[];
  areOfFiles?: boolean;
  /** `net.ipv4.ping_group_range`: Docker opens it in its containers, other engines may not. */
  pingRange: 'everybody' | 'nobody';
  hasUserNamespaces: boolean;
  icmp: 'datagram' | 'raw' | 'none';
  /** Whether packets of failing connections can be kept. */
  hasCapture: boolean;
  /** Programs may be started from `/tmp`, which suites need. */
  isTmpExec: boolean;
  /** How runs of code are kept apart, in images that run code. */
  isolation: 'namespaces by bubblewrap' | 'user' | 'process-group';
}

export const pingRanges = { everybody: '0 2147483647', nobody: '1 0' };

/** Without rights, and where an engine lets it do little. */
const confined: Omit<Scenario, 'says'> = {
  ...{ capabilities: [], pingRange: 'nobody', hasUserNamespaces: false, icmp: 'none' },
  ...{ hasCapture: false, isTmpExec: false, isolation: 'process-group' },
};
const withRawSockets = { icmp: 'raw', hasCapture: true, isTmpExec: true } as const;

const scenarios: readonly Scenario[] = [
  {
    ...{ ...confined, says: 'as it is', pingRange: 'everybody', isTmpExec: true, icmp: 'datagram' },
    ...{ hasUserNamespaces: true, isolation: 'namespaces by bubblewrap' },
  },
  { ...confined, says: 'any user, no rights', user: '12345:12345' },
  {
    ...{ ...confined, ...withRawSockets, says: 'any user, NET_RAW', user: '23456:0' },
    capabilities: ['net_raw'],
  },
  {
    ...{ ...confined, ...withRawSockets, says: 'NET_RAW for the helper alone', areOfFiles: true },
    capabilities: dockerCapabilities,
  },
  {
    ...{ ...confined, ...withRawSockets, says: 'root as in Docker', user: '0:0' },
    ...{ capabilities: dockerCapabilities, isolation: 'user' },
  },
  {
    ...{ ...confined, says: 'root without NET_RAW', user: '0:0', isolation: 'user' },
    capabilities: dockerCapabilities.filter((name) => name !== 'net_raw'),
  },
];

/** The scenarios whose name has these words in it. Throws where none has. */
export function chooseScenarios(words: string): readonly Scenario[] {
  const chosen = scenarios.filter(({ says }) => says.includes(words));
  if (chosen.length > 0) return chosen;
  const names = scenarios.map(({ says }) => `"${says}"`).join(', ');
  throw new Error(`no way of running images is called "${words}"; there are ${names}`);
}

/**
 * What an account may use. A self-hosted installation has every entitlement: no feature depends on
 * a plan. The list therefore says what this installation can do. Spec: Account entitlements.
 */
export const plans = ['hobby', 'starter', 'team', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

const planNames: Readonly<Record<string, string>> = {
  hobby: 'Hobby',
  starter: 'Starter',
  team: 'Team',
  enterprise: 'Enterprise',
};

/** Name of a plan for people: `enterprise` is "Enterprise". */
export function planName(plan: string): string {
  return planNames[plan] ?? plan;
}

interface Entitlement {
  key: string;
  name: string;
  description: string;
  type: 'flag' | 'metered';
  enabled: boolean;
  quantity?: number;
}

const flags: readonly (readonly [key: string, name: string, description: string])[] = [
  [
    'UPTIME_MONITORS',
    'Uptime monitors',
    'URL, TCP, DNS, ICMP, SSL, traceroute, gRPC and heartbeat monitors',
  ],
  ['API_CHECKS', 'API checks', 'HTTP requests with scripts and assertions'],
  ['BROWSER_CHECKS', 'Browser checks', 'Scripts that drive a browser'],
  ['MULTISTEP_CHECKS', 'Multi-step checks', 'Scripts of several requests'],
  ['PLAYWRIGHT_CHECKS', 'Playwright check suites', 'Whole Playwright projects as a check'],
  ['AGENTIC_CHECKS', 'Agentic checks', 'Prompts that a language model carries out'],
  ['PRIVATE_LOCATIONS', 'Private locations', 'Agents in your own network'],
  ['ADVANCED_ALERT_CHANNELS', 'Advanced alert channels', 'SMS, calls and paging services'],
  ['STATUS_PAGES', 'Status pages', 'Pages with services, incidents and subscribers'],
  ['PARALLEL_SCHEDULING', 'Parallel scheduling', 'Runs in all locations of a check at once'],
  ['MAINTENANCE_WINDOWS', 'Maintenance windows', 'Times at which checks do not run'],
];

/** All entitlements, in a stable order. */
export function entitlementsOf(): Entitlement[] {
  return [
    ...flags.map(([key, name, description]) => ({
      key,
      name,
      description,
      type: 'flag' as const,
      enabled: true,
    })),
    {
      key: 'CHECK_VARIABLES',
      name: 'Variables of a check',
      description: 'Most variables that a check can have',
      type: 'metered',
      enabled: true,
      quantity: 50,
    },
  ];
}

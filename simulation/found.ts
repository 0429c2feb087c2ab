/** The cases that there were when the first seeds were found: others would make other stories of them. */
const atFirst = [
  ...['targets', 'kill', 'suspend', 'slow', 'clock', 'drift', 'link', 'requests', 'drain'],
  ...['update', 'receiver', 'heartbeats', 'people'],
];

/** Seeds that found something, each with what: a fault that was mended, or what the oracle said though all was well. */
export const found: readonly { seed: number; cases: readonly string[]; cause: string }[] = [
  {
    ...{ seed: 5, cases: atFirst },
    cause: 'an attempt that was made again and passed leaves the stored failure FINAL',
  },
  {
    ...{ seed: 39, cases: atFirst },
    cause: 'a machine that sleeps during a poll sets the clock of its agent wrong',
  },
  {
    ...{ seed: 52, cases: atFirst },
    cause:
      'a slot is called missed without a cause: an agent that is cut off learns of no new checks',
  },
  {
    ...{ seed: 3, cases: ['clock'] },
    cause: 'incidents refuse updates after the clock was set back',
  },
  {
    ...{ seed: 9, cases: ['clock'] },
    cause: 'a result is said to lie ahead: who hears of no step of the clock stays where it was',
  },
  {
    ...{ seed: 35, cases: ['clock'] },
    cause: 'an incident is missed: a failure below its threshold that becomes degraded opens none',
  },
  {
    ...{ seed: 54, cases: ['drain'] },
    cause: 'a visit is called cut: people have switched its check off',
  },
  {
    ...{ seed: 3080, cases: ['clock', 'drain'] },
    cause: 'a result is called wrong: of two agents with one run, either counts',
  },
  {
    ...{ seed: 38, cases: ['people', 'kill'] },
    cause: 'an agent with a new key is refused for a minute, and hears of no window',
  },
  {
    ...{ seed: 30032, cases: ['clock'] },
    cause: 'an attempt at another location is stored twice: sent again once its slot was due again',
  },
  {
    ...{ seed: 30071, cases: ['clock'] },
    cause:
      'a result is stored twice: sent again after two steps back, it was looked for by the last',
  },
  {
    ...{ seed: 30147, cases: ['clock'] },
    cause:
      'a result is called missing: an attempt that was made again at another location has another id',
  },
  {
    ...{ seed: 30201, cases: ['clock'] },
    cause: 'no recovery for minutes: a slot that is yet to come was decided for its alert',
  },
  {
    ...{ seed: 50025, cases: ['disk'] },
    cause: 'a full disk takes verdicts that are on it, for new ones that fit into memory',
  },
  {
    ...{ seed: 50089, cases: ['power'] },
    cause:
      'a cached schedule is cut as the power is lost: nothing is known without the control plane',
  },
  {
    seed: 60071,
    cases: [
      ...['responders', 'operators', 'kill', 'link', 'suspend', 'update', 'receiver', 'drain'],
      ...['requests', 'people'],
    ],
    cause: 'a run between two attempts is given up by an agent that is given a new key',
  },
];

/** Of these no program was wrong, or a test of its own says what was. */
export const ofLongTier = [52, 9, 54, 3080, 30147, 38, 30032, 30071, 30201, 50025, 50089, 60071];

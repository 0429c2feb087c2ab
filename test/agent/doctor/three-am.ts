/**
 * The faults that an agent did not report, by the number of their entry and a letter in it; W are those that
 * were not tried then. A row of the proof's `diagnosis` or an environment of doctor says `from`;
 * `tests` prove a fault where no row can make it.
 */
interface Fault {
  readonly fault: string;
  readonly tests?: readonly (readonly [file: string, name: string])[];
  /** Why nothing proves it. */
  readonly uncovered?: string;
}

const log = 'test/shared/log-output.test.ts';
const agentStep = 'test/agent/doctor/steps/agent.test.ts';
const renewal = 'test/agent/link/renewal.test.ts';
const failures = 'test/agent/worker/failure-log.test.ts';
const installation = 'test/agent/damaged-installation.test.ts';
const cut =
  'a file of the installation that was cut is named, and what users wrote is not taken for one';
const differ = 'where the running agent and a fresh process differ, that is the finding';
const unwritten =
  'lines that cannot be written are counted, and that is said once, after the line that was cut';

export const threeAm: Readonly<Record<string, Fault>> = {
  '1a': { fault: 'a full disk of the log hangs the control plane', tests: [[log, unwritten]] },
  '1b': { fault: 'a full disk of the log ends the agent', tests: [[log, unwritten]] },
  '2a': {
    fault: 'the running agent has another key than its file',
    tests: [
      [
        renewal,
        'a key that was replaced in its file is used before the next try, and nothing that cannot be one',
      ],
    ],
  },
  '2b': {
    fault: 'the file of authorities was renewed while it runs',
    tests: [[renewal, 'an authority that was put into its file is trusted before the next try']],
  },
  '2c': { fault: 'another agent runs on the folder' },
  '2d': {
    fault: 'an outbox was found damaged, results were dropped or set aside',
    tests: [[agentStep, differ]],
  },
  '2e': { fault: 'another version was installed beneath it', tests: [[agentStep, differ]] },
  '3a': { fault: 'a page with 413 on the results' },
  '3b': {
    fault: 'a page with 400 on the results',
    tests: [
      [
        'test/agent/worker/submit-loop.test.ts',
        'what is refused for a header, which something in between changed, is kept until it is taken',
      ],
    ],
  },
  '3c': { fault: 'a balancer cuts polls' },
  '3d': { fault: 'files are refused in between' },
  '4a': { fault: 'a proxy takes Content-Type away' },
  '4b': {
    fault: 'a step takes longer than its limit, and doctor ends with 0',
    tests: [
      [
        'test/agent/doctor/run-steps.test.ts',
        'what is not begun when the time of doctor is over has failed',
      ],
    ],
  },
  '5a': {
    fault: 'doctor hides an outage from the control plane',
    tests: [
      [
        'test/control-plane/alerting/unserved-locations.test.ts',
        'doctor, and an agent that only ends its runs, serve nothing and hide no outage',
      ],
      [
        'test/control-plane/fleet.test.ts',
        'a visit that waits, a batch of no results and a file of nobody leave no trace',
      ],
    ],
  },
  '6a': { fault: 'the health port is held by the agent itself, which is stopped' },
  '6b': { fault: 'the health port is held by the agent itself, which waits for a CPU' },
  '6c': { fault: 'the health port is held by the agent itself, whose folder was removed' },
  '7a': {
    fault: 'the reason of an outage changes',
    tests: [
      [
        failures,
        'each new reason is logged within a minute, and the same one after ten, with since when and how often',
      ],
    ],
  },
  '7b': { fault: 'a resolver dies' },
  '7c': { fault: 'a firewall drops' },
  '7d': { fault: 'a redirect' },
  '7e': { fault: 'a login page' },
  '8a': { fault: 'quotes around the key' },
  '8b': { fault: 'the name before the key' },
  '8c': { fault: 'a key in base64' },
  '8d': { fault: 'a key of six characters' },
  '8e': { fault: 'a key in UTF-16' },
  '8f': { fault: 'a masked key' },
  '8g': { fault: 'a key of a wrong length' },
  '9a': { fault: 'a misspelt setting' },
  '10a': { fault: 'a resolver that takes eight seconds' },
  '10b': {
    fault: 'name server and operating system give different addresses',
    tests: [['test/agent/doctor/steps/link.test.ts', 'by the operating system alone']],
  },
  '11a': {
    fault: 'a slow way is called a wrong clock',
    tests: [
      [
        'test/agent/doctor/judge-status.test.ts',
        'a slow way is not a wrong clock, and one cut is not a rule',
      ],
    ],
  },
  '12a': { fault: 'a piece of a proxy password is shown' },
  '13a': { fault: 'the end of a refused agent is 39 warnings' },
  '14a': { fault: 'a cut file of the installation', tests: [[installation, cut]] },
  '14b': { fault: 'a cut file that only start loads', tests: [[installation, cut]] },
  '15a': {
    fault: 'the control plane says nothing of refused keys',
    tests: [
      [
        'test/control-plane/fleet.test.ts',
        'never connected, connected, stopped and refused are four states, and a refusal says when, why and from where',
      ],
    ],
  },
  W1: { fault: 'the clock is ten minutes off at the start' },
  W2: { fault: 'an expired certificate' },
  W3: { fault: 'TLS 1.0' },
  W4: { fault: 'a disk that becomes read-only while it runs' },
  W5: { fault: 'packets are lost' },
  W6: { fault: 'a filter of seccomp' },
  W7: { fault: 'the browser lacks libraries' },
  W8: { fault: 'SIGTERM while 150 MB are uploaded' },
  W9: { fault: 'half of a runtime' },
  W10: { fault: 'pids.max is 50' },
  W11: { fault: 'the reader of the log stands still' },
};

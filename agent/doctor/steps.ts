/** Everything `doctor` looks at, in order: what comes first can be the cause of what comes later. */
import type { Step } from './step.ts';
import { agent } from './steps/agent.ts';
import { browser } from './steps/browser.ts';
import { calls } from './steps/calls.ts';
import { clock } from './steps/clock.ts';
import { connect } from './steps/connect.ts';
import { controlPlane } from './steps/control-plane.ts';
import { cpu } from './steps/cpu.ts';
import { dataDirectory } from './steps/data-directory.ts';
import { descriptors } from './steps/descriptors.ts';
import { dns } from './steps/dns.ts';
import { fonts } from './steps/fonts.ts';
import { healthPort } from './steps/health-port.ts';
import { icmp } from './steps/icmp.ts';
import { ipv6 } from './steps/ipv6.ts';
import { key } from './steps/key.ts';
import { linkQuality } from './steps/link-quality.ts';
import { memory } from './steps/memory.ts';
import { packetCapture } from './steps/packet-capture.ts';
import { processes } from './steps/processes.ts';
import { protocol } from './steps/protocol.ts';
import { proxy } from './steps/proxy.ts';
import { route } from './steps/route.ts';
import { runtimes } from './steps/runtimes.ts';
import { scripts } from './steps/scripts.ts';
import { settings } from './steps/settings.ts';
import { tls } from './steps/tls.ts';
import { traceroute } from './steps/traceroute.ts';
import { versions } from './steps/versions.ts';
import { workDirectory } from './steps/work-directory.ts';

export const steps: readonly Step[] = [
  agent,
  versions,
  settings,
  dataDirectory,
  workDirectory,
  descriptors,
  processes,
  memory,
  cpu,
  dns,
  route,
  proxy,
  connect,
  tls,
  controlPlane,
  key,
  protocol,
  calls,
  clock,
  linkQuality,
  icmp,
  packetCapture,
  traceroute,
  ipv6,
  browser,
  fonts,
  runtimes,
  scripts,
  healthPort,
];

/** Steps of earlier versions, whose findings others have now; they may still be named to be skipped. */
export const retiredSteps: ReadonlySet<string> = new Set([
  'user',
  'root-filesystem',
  'shared-memory',
]);

/** Everything `doctor` looks at, in order: what comes first can be the cause of what comes later. */
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { wayUntil, type Step } from './step.ts';
import { checkAgent } from './steps/agent.ts';
import { checkBrowser } from './steps/browser.ts';
import { checkCalls } from './steps/calls.ts';
import { checkClock } from './steps/clock.ts';
import { checkConnect } from './steps/connect.ts';
import { checkControlPlane } from './steps/control-plane.ts';
import { checkDataDirectory } from './steps/data-directory.ts';
import { checkDns } from './steps/dns.ts';
import { checkFonts } from './steps/fonts.ts';
import { checkHealthPort } from './steps/health-port.ts';
import { checkIcmp } from './steps/icmp.ts';
import { checkIpv6 } from './steps/ipv6.ts';
import { checkKey } from './steps/key.ts';
import { checkCpu, checkDescriptors, checkMemory, checkProcesses } from './steps/limits.ts';
import { checkLinkQuality } from './steps/link-quality.ts';
import { checkPacketCapture } from './steps/packet-capture.ts';
import { checkProtocol } from './steps/protocol.ts';
import { checkProxy } from './steps/proxy.ts';
import { checkRoute } from './steps/route.ts';
import { checkRuntimes } from './steps/runtimes.ts';
import { checkScripts } from './steps/scripts.ts';
import { checkSettings } from './steps/settings.ts';
import { checkTls } from './steps/tls.ts';
import { checkTraceroute } from './steps/traceroute.ts';
import { checkVersions } from './steps/versions.ts';
import { checkWorkDirectory } from './steps/work-directory.ts';

const all = Object.values(checkTypes);
const ofBrowsers = all.filter(({ browser }) => browser !== 'never').map(({ type }) => type);
const ofCode = all.filter(({ runtime }) => runtime !== 'never').map(({ type }) => type);

export const steps: readonly Step[] = [
  {
    ...{ id: 'agent', name: 'running agent', check: checkAgent },
    tries: ({ config }) => `to ask the agent that runs in ${config.AGENT_DATA_DIR}`,
  },
  {
    ...{ id: 'versions', name: 'versions', check: checkVersions },
    tries: () => 'to read versions',
  },
  {
    ...{ id: 'settings', name: 'settings', check: checkSettings },
    tries: () => 'to read the settings',
  },
  {
    ...{ id: 'data-directory', name: 'data directory', check: checkDataDirectory },
    tries: ({ config }) =>
      `to write to AGENT_DATA_DIR (${config.AGENT_DATA_DIR}), and who holds it`,
  },
  {
    ...{ id: 'work-directory', name: 'work directory', check: checkWorkDirectory },
    servesOnly: [...ofCode, ...ofBrowsers],
    tries: ({ config }) => `to write to AGENT_WORK_DIR (${config.AGENT_WORK_DIR})`,
  },
  {
    ...{ id: 'descriptors', name: 'open files', check: checkDescriptors },
    tries: () => 'to read the limit of open files',
  },
  {
    ...{ id: 'processes', name: 'processes', check: checkProcesses },
    tries: () => 'to count processes and threads against their limits',
  },
  {
    ...{ id: 'memory', name: 'memory', check: checkMemory },
    tries: () => 'to read the limits of memory',
  },
  {
    ...{ id: 'cpu', name: 'CPU', check: checkCpu },
    tries: () => 'to read the limits of CPU',
  },
  {
    ...{ id: 'dns', name: 'name resolution', isOnline: true, check: checkDns },
    tries: ({ link }) => `to resolve ${link.destination.hop.host}`,
  },
  {
    ...{ id: 'route', name: 'route', isOnline: true, check: checkRoute },
    tries: ({ link }) => `to ask the kernel for the way to ${link.destination.hop.shown}`,
    needs: ['dns'],
  },
  {
    ...{ id: 'proxy', name: 'proxy', isOnline: true, check: checkProxy },
    tries: ({ link }) =>
      `a tunnel of ${link.destination.hop.whose} at ${link.destination.hop.shown}`,
    needs: wayUntil('route'),
  },
  {
    ...{ id: 'connect', name: 'connection', isOnline: true, check: checkConnect },
    tries: ({ link }) => `a TCP connection to ${link.destination.hop.shown}`,
    needs: wayUntil('proxy'),
  },
  {
    ...{ id: 'tls', name: 'TLS', isOnline: true, check: checkTls },
    tries: ({ link }) => `a TLS handshake with ${link.destination.baseUrl}`,
    needs: wayUntil('connect'),
  },
  {
    ...{ id: 'control-plane', name: 'control plane', isOnline: true, check: checkControlPlane },
    tries: ({ link }) => `a check-in at ${link.destination.baseUrl}`,
    needs: wayUntil('tls'),
  },
  {
    ...{ id: 'key', name: 'key', isOnline: true, check: checkKey },
    tries: ({ link }) => `a check-in with API_KEY at ${link.destination.baseUrl}`,
    needs: ['settings', ...wayUntil('control-plane')],
  },
  {
    ...{ id: 'protocol', name: 'protocol', isOnline: true, check: checkProtocol },
    tries: ({ link }) => `a check-in at ${link.destination.baseUrl}`,
    needs: wayUntil('key'),
  },
  {
    ...{ id: 'calls', name: 'kinds of calls', isOnline: true, check: checkCalls },
    tries: ({ link }) => `a poll that waits, results and a file at ${link.destination.baseUrl}`,
    needs: wayUntil('protocol'),
  },
  {
    ...{ id: 'clock', name: 'clock', isOnline: true, check: checkClock },
    tries: ({ link }) => `a check-in at ${link.destination.baseUrl}, which says its time`,
    // Not the key: what was refused still says what time it is.
    needs: wayUntil('control-plane'),
  },
  {
    ...{
      id: 'link-quality',
      name: 'link quality',
      isOnline: true,
      isSlow: true,
      check: checkLinkQuality,
    },
    tries: ({ link }) => `round trips to ${link.destination.baseUrl}`,
    needs: wayUntil('control-plane'),
  },
  {
    ...{ id: 'icmp', name: 'ICMP', check: checkIcmp },
    servesOnly: ['ICMP'],
    tries: () => 'an echo request to this machine itself',
  },
  {
    ...{ id: 'packet-capture', name: 'packet capture', check: checkPacketCapture },
    tries: () => 'to open a socket that hears packets',
  },
  {
    ...{ id: 'traceroute', name: 'traceroute', isSlow: true, check: checkTraceroute },
    tries: ({ link }) => `to trace the way to ${link.destination.hop.shown}`,
    // Routers tell a sender only so often that a host cannot be reached: these packets use it up.
    after: ['connect'],
  },
  {
    ...{ id: 'ipv6', name: 'IPv6', check: checkIpv6 },
    tries: () => 'to read addresses and routes of IPv6',
  },
  {
    ...{ id: 'browser', name: 'browser', isSlow: true, check: checkBrowser },
    servesOnly: ofBrowsers,
    tries: ({ config }) =>
      `to start the browser ${config.AGENT_CHROMIUM_PATH ?? 'of this machine'}`,
    needs: ['work-directory'],
  },
  {
    ...{ id: 'fonts', name: 'fonts', isSlow: true, check: checkFonts },
    servesOnly: ofBrowsers,
    tries: () => 'to list the fonts of this machine',
    needs: ['browser'],
  },
  {
    ...{ id: 'runtimes', name: 'runtimes', isSlow: true, check: checkRuntimes },
    servesOnly: [...ofCode, ...ofBrowsers],
    tries: ({ config }) => `to read the runtimes in ${config.AGENT_RUNTIMES_DIR}`,
  },
  {
    ...{ id: 'scripts', name: 'scripts', isSlow: true, check: checkScripts },
    servesOnly: [...ofCode, ...ofBrowsers],
    tries: ({ config }) => `to prepare a run of code in ${config.AGENT_WORK_DIR}`,
    needs: ['work-directory'],
  },
  {
    ...{ id: 'health-port', name: 'health port', check: checkHealthPort },
    tries: ({ config }) =>
      `to open port ${config.AGENT_HEALTH_PORT} on ${config.AGENT_HEALTH_HOST}`,
  },
];

/** Steps of earlier versions, whose findings others have now; they may still be named to be skipped. */
export const retiredSteps: ReadonlySet<string> = new Set([
  'user',
  'root-filesystem',
  'shared-memory',
]);

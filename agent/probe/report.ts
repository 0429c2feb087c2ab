/** What one probe found: gauges for Prometheus, and a log for people who ask for it. */
import { Gauge, Registry } from 'prom-client';
import type { Address } from '../net/dns/resolve.ts';

type Labels = Readonly<Record<string, string>>;

export class ProbeReport {
  readonly #registry = new Registry();
  readonly #gauges = new Map<string, Gauge>();
  readonly log: string[] = [];

  /** Sets a gauge, declaring it first where it is new. */
  set(name: string, help: string, value: number, labels: Labels = {}): void {
    let gauge = this.#gauges.get(name);
    if (gauge === undefined) {
      gauge = new Gauge({
        name,
        help,
        labelNames: Object.keys(labels),
        registers: [this.#registry],
      });
      this.#gauges.set(name, gauge);
    }
    gauge.set(labels, value);
  }

  note(what: string): void {
    this.log.push(what);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    return this.#registry.metrics();
  }
}

const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

function bytesOf(address: string): number[] {
  if (!address.includes(':')) return address.split('.').map(Number);
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const groups = (part: string): number[] =>
    part === ''
      ? []
      : part.split(':').flatMap((group) => {
          if (group.includes('.')) return group.split('.').map(Number);
          const value = Number.parseInt(group, 16);
          return [value >> 8, value & 0xff];
        });
  const [before, after] = [groups(head), groups(tail ?? '')];
  return tail === undefined
    ? before
    : [...before, ...new Array<number>(16 - before.length - after.length).fill(0), ...after];
}

/** FNV-1a of the bytes of an address, 32 bits: as dashboards compare it. */
export function addressHash(address: string): number {
  return bytesOf(address).reduce((hash, byte) => Math.imul(hash ^ byte, fnvPrime) >>> 0, fnvOffset);
}

/** What probes with patterns say: 0 at first, 1 where a pattern is why they failed. */
export function reportRegex(report: ProbeReport, value: 0 | 1): void {
  report.set('probe_failed_due_to_regex', 'Indicates if probe failed due to regex', value);
}

/** What every probe says about the address it chose; null when there was none. */
export function reportAddress(
  report: ProbeReport,
  address: Address | null,
  lookupMs: number,
): void {
  report.set(
    'probe_dns_lookup_time_seconds',
    'Returns the time taken for probe dns lookup in seconds',
    lookupMs / 1000,
  );
  report.set(
    'probe_ip_protocol',
    'Specifies whether probe ip protocol is IP4 or IP6',
    address === null ? 0 : address.family === 'IPv6' ? 6 : 4,
  );
  report.set(
    'probe_ip_addr_hash',
    "Specifies the hash of IP address. It's useful to detect if the IP address changes.",
    address === null ? 0 : addressHash(address.address),
  );
}

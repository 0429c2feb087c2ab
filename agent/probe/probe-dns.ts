/** A question to the target, which is a name server, as the `dns` prober asks it. */
import type { DnsRecord } from '../net/dns/answer.ts';
import { askServer } from '../net/dns/ask.ts';
import { parseNameServer } from '../net/dns/name-server.ts';
import { encodeQuery } from '../net/dns/query.ts';
import { chooseAddress } from './choose-address.ts';
import type { DnsModule } from './module-schema.ts';
import { reportAddress, type ProbeReport } from './report.ts';
import type { ProbeSurroundings } from './surroundings.ts';

type RecordRules = NonNullable<DnsModule['validate_answer_rrs']>;

const phases = ['resolve', 'connect', 'request'] as const;

function reportDurations(report: ProbeReport, resolve: number, request: number): void {
  const sums = { resolve, connect: 0, request };
  for (const phase of phases) {
    report.set(
      'probe_dns_duration_seconds',
      'Duration of DNS request by phase',
      sums[phase] / 1000,
      { phase },
    );
  }
}

/** A record as it is matched: `name ttl class type data`, with tabs between. */
function lineOf({ name, ttl, class: recordClass, type, data }: DnsRecord): string {
  return [name, ttl, recordClass, type, data].join('\t');
}

function isValid(records: readonly DnsRecord[], rules: RecordRules | undefined): boolean {
  if (rules === undefined) return true;
  const lines = records.map(lineOf);
  const matches = (rule: RecordRules['fail_if_matches_regexp'][number]) => (line: string) =>
    rule.matcher(line).find();
  return !(
    rules.fail_if_matches_regexp.some((rule) => lines.some(matches(rule))) ||
    rules.fail_if_all_match_regexp.some((rule) => lines.length > 0 && lines.every(matches(rule))) ||
    rules.fail_if_not_matches_regexp.some((rule) => !lines.every(matches(rule))) ||
    rules.fail_if_none_matches_regexp.some(
      (rule) => lines.length === 0 || !lines.some(matches(rule)),
    )
  );
}

/** Gives whether the probe succeeded. Throws an AgentError where the target is not the cause. */
export async function probeDns(
  target: string,
  module: DnsModule,
  report: ProbeReport,
  surroundings: ProbeSurroundings,
): Promise<boolean> {
  const { clock, signal, timeoutMs } = surroundings;
  const begunAt = clock.monotonic();
  const counts = (answers: number, authorities: number, additional: number): void => {
    const help = (where: string) =>
      `Returns number of entries in the ${where} resource record list`;
    report.set('probe_dns_answer_rrs', help('answer'), answers);
    report.set('probe_dns_authority_rrs', help('authority'), authorities);
    report.set('probe_dns_additional_rrs', help('additional'), additional);
  };
  const succeeded = (value: number): void => {
    report.set(
      'probe_dns_query_succeeded',
      'Displays whether or not the query was executed successfully',
      value,
    );
  };
  counts(0, 0, 0);
  succeeded(0);
  const place = parseNameServer(target);
  if (place === null) {
    report.note('the target is not a name server');
    reportAddress(report, null, 0);
    reportDurations(report, 0, 0);
    return false;
  }
  const { address, lookupMs } = await chooseAddress(place.host, module, clock, report);
  reportDurations(report, lookupMs, 0);
  const query = encodeQuery(module.query_name, module.query_type, module.recursion_desired);
  if (query === null) report.note('dns.query_name cannot be asked for');
  if (address === null || query === null) return false;
  const asked = await askServer(
    query,
    { name: place.host, host: address.address, port: place.port },
    module.transport_protocol === 'tcp' ? 'TCP' : 'UDP',
    {
      ...{ clock, signal, deadline: begunAt + timeoutMs },
      log: (message) => report.note(message),
    },
  );
  if ('failure' in asked) {
    report.note(asked.failure.message);
    return false;
  }
  const { answer, sentAt, receivedAt } = asked;
  reportDurations(report, lookupMs, receivedAt - sentAt);
  counts(answer.answers.length, answer.authorities.length, answer.additionalCount);
  succeeded(1);
  const serial = answer.answers.find(({ type }) => type === 'SOA')?.data.split(' ')[2];
  if (module.query_type === 'SOA' && serial !== undefined) {
    report.set('probe_dns_serial', 'Returns the serial number of the zone', Number(serial));
  }
  const codes = module.valid_rcodes.length > 0 ? module.valid_rcodes : ['NOERROR'];
  if (!codes.includes(answer.returnCode)) {
    report.note(`the name server answered ${answer.returnCode}`);
    return false;
  }
  if (!isValid(answer.answers, module.validate_answer_rrs)) {
    report.note('the records of the answer are not as validate_answer_rrs asks');
    return false;
  }
  if (!isValid(answer.authorities, module.validate_authority_rrs)) {
    report.note('the records of the authorities are not as validate_authority_rrs asks');
    return false;
  }
  return true;
}

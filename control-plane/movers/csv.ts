/** A table of checks as CSV, with the columns of `docs/moving.md`. */
import { parse } from 'csv-parse/sync';
import * as make from './converted-check.ts';
import { assertion, type Assertion } from './decide/assertion.ts';
import { confirmationFor } from './decide/retries.ts';
import { goDuration } from './decide/go-duration.ts';
import { parseCodeRange, type CodeRange } from './decide/status-codes.ts';
import { httpCheck, typeByStart } from './http-request.ts';
import { SourceError, type Mover, type SourceFile } from './mover.ts';
import { attempt, slug, type Entry, type Plan } from './plan.ts';
import { lookUp, SourceObject } from './source-object.ts';

const columns = [
  ...['id', 'name', 'type', 'target', 'interval', 'timeout', 'method', 'headers', 'body'],
  ...['username', 'password', 'status_codes', 'keyword', 'keyword_absent', 'follow_redirects'],
  ...['skip_tls', 'ip_family', 'retries', 'retry_delay', 'record_type', 'name_server', 'grace'],
  ...['group', 'tags', 'description', 'active'],
];
const rowDefaults = { method: 'GET', active: 'true', follow_redirects: 'true', interval: '60' };

const isCsv = ({ path, tables }: SourceFile) => tables === null && /\.csv$/i.test(path);

/** Seconds of `300`, `5m` or `30s`. */
function secondsOf(row: SourceObject, column: string, otherwise: number): number {
  const text = row.text(column);
  if (text === '') return otherwise;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : goDuration(text);
  if (seconds === null || (seconds === 0 && column === 'interval'))
    throw new SourceError(`\`${column}\` is not a number of seconds: ${text}`);
  return seconds;
}

function accepted(row: SourceObject, entry: Entry): readonly Assertion[] {
  const text = row.text('status_codes');
  const parts = text === '' ? ['200-299'] : text.split(/[,;\s]+/).filter((part) => part !== '');
  const ranges = parts.map(parseCodeRange);
  if (ranges.includes(null)) throw new SourceError(`\`status_codes\` are not codes: ${text}`);
  const codes = ranges.filter((range): range is CodeRange => range !== null);
  return make.acceptedCodes(entry, codes, `accepted ${text}.`);
}

function headersOf(row: SourceObject): [string, string][] {
  const text = row.text('headers');
  if (text === '') return [];
  return text.split(/\r?\n|;\s*/).map((line) => {
    const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(line.trim()) ?? [];
    if (name === undefined) throw new SourceError('`headers` are not `name: value`');
    return [name, value ?? ''];
  });
}

type Kind = (row: SourceObject, entry: Entry) => make.ConvertedCheck;

const http: Kind = (row, entry) => {
  const keyword = (column: string, comparison: string) => {
    const target = entry.guardTemplate(`\`${column}\``, row.text(column));
    return target === '' ? [] : [assertion('TEXT_BODY', comparison, target)];
  };
  const body = row.text('body');
  const [username, password] = [row.text('username'), row.text('password')];
  return httpCheck(entry, {
    url: row.text('target'),
    method: row.text('method'),
    headers: headersOf(row),
    body,
    bodyType: typeByStart(body),
    basicAuth: username + password === '' ? null : { username, password },
    followRedirects: row.flag('follow_redirects'),
    skipSSL: row.flag('skip_tls'),
    ipFamily: ipFamilyOf(row),
    assertions: [
      ...accepted(row, entry),
      ...keyword('keyword', 'CONTAINS'),
      ...keyword('keyword_absent', 'NOT_CONTAINS'),
    ],
  });
};

function ipFamilyOf(row: SourceObject): 'IPv4' | 'IPv6' {
  const text = row.text('ip_family');
  if (!/[46]$|^$/.test(text)) throw new SourceError(`\`ip_family\` is neither 4 nor 6: ${text}`);
  return text.endsWith('6') ? 'IPv6' : 'IPv4';
}

const tcp: Kind = (row) => {
  const address = make.addressOf(row.text('target'));
  if (address?.port == null) throw new SourceError('`target` is not `host:port`');
  return make.tcpCheck({ hostname: address.host, port: address.port }, ipFamilyOf(row));
};

const icmp: Kind = (row) => {
  const address = make.addressOf(row.text('target'));
  if (address === null) throw new SourceError('`target` is not a host');
  return make.icmpCheck(address.host, ipFamilyOf(row));
};

const dns: Kind = (row) => {
  const nameServer = row.text('name_server');
  return make.dnsCheck({
    query: row.text('target').replace(/^dns:\/\//i, ''),
    recordType: (row.text('record_type') || 'A').toUpperCase(),
    ...(nameServer === '' ? {} : { nameServer }),
    assertions: [],
  });
};

const heartbeat: Kind = (row) =>
  make.heartbeat(Math.max(30, secondsOf(row, 'interval', 86_400)), secondsOf(row, 'grace', 0));

/** By the text in `type`. */
const kinds: Readonly<Record<string, Kind>> = {
  ...{ http, https: http, url: http, api: http, keyword: http },
  ...{ tcp, port: tcp, icmp, ping: icmp, dns, heartbeat, push: heartbeat },
};

function typeOf(row: SourceObject): string {
  const given = row.text('type').toLowerCase();
  if (given !== '') return given;
  return /^([a-z]+):\/\//i.exec(row.text('target'))?.[1]?.toLowerCase() ?? '';
}

function convertRow(plan: Plan, row: SourceObject): void {
  const name = row.text('name') || make.withoutLogin(row.text('target'));
  const id = slug(row.text('id') || name);
  const entry = plan.entry('row', id, name);
  const type = typeOf(row);
  const kind = lookUp(kinds, type);
  if (kind === undefined) {
    const isUnsaid = type === '';
    return entry.nothing(
      isUnsaid ? 'it has no `type`, and no scheme' : `type \`${type}\` has no counterpart`,
    );
  }
  const made = kind(row, entry);
  const interval = secondsOf(row, 'interval', 60);
  const delay = secondsOf(row, 'retry_delay', 60);
  const confirmed = confirmationFor(row.number('retries'), delay, interval);
  entry.changed(confirmed.change);
  const timeout = secondsOf(row, 'timeout', 0);
  const common = {
    name,
    description: row.text('description'),
    tags: row.text('tags').split(/[;,]/),
    active: row.flag('active'),
    groupId: plan.group(row.text('group')),
  };
  for (const column of row.unread()) {
    const isKnown = columns.includes(column);
    entry.notCarried(isKnown && `\`${column}\` has no effect on this type`);
    entry.notCarried(!isKnown && `column \`${column}\` is not known`);
  }
  const logicalId = `row-${id}`;
  if (plan.has(logicalId)) throw new SourceError(`two rows have the id or name \`${id}\``);
  make.addCheck(plan, entry, logicalId, made, {
    ...{ ...common, seconds: interval, timeout, timeoutField: timeout > 0 ? 'timeout' : null },
    ...{ retryStrategy: confirmed.retryStrategy, alertSettings: confirmed.escalation },
  });
}

/** Of two columns with one name, the first would be lost. */
function namesIn(header: readonly string[]): string[] {
  const names = header.map((name) => name.trim().toLowerCase());
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`there are two columns \`${twice}\``);
  return names;
}

function convert(files: readonly SourceFile[], plan: Plan): void {
  for (const file of files) {
    let rows: Record<string, string>[];
    try {
      rows = parse(file.text, {
        ...{ bom: true, skip_empty_lines: true, trim: true },
        // As spreadsheets write it where a comma is the decimal sign.
        delimiter: /^[^\n,]*;/.test(file.text) ? ';' : ',',
        columns: (header: string[]) => namesIn(header),
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new SourceError(`${file.path} is not valid CSV: ${reason}`);
    }
    const [first] = rows;
    if (first !== undefined && !('target' in first)) {
      throw new SourceError(
        `${file.path} has no column \`target\`; its columns are ${Object.keys(first).join(', ')}`,
      );
    }
    for (const [index, row] of rows.entries()) {
      try {
        // An empty cell is a column that is not there.
        const given = Object.entries(row).filter(([, cell]) => cell !== '');
        const source = new SourceObject(Object.fromEntries(given), rowDefaults);
        attempt(() => convertRow(plan, source));
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        throw new SourceError(`${file.path}, row ${index + 1} below the header: ${error.message}`);
      }
    }
  }
}

export const csv: Mover = {
  title: 'CSV',
  recognises: (files) => files.some(isCsv),
  reads: isCsv,
  convert,
};

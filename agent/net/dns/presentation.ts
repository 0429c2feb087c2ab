/** The two readable forms of an answer: JSON as public resolvers give it, and text as dig prints it. */
import type { DnsAnswer, DnsRecord } from './answer.ts';
import { textOf, type NameServer } from './exchange.ts';

/** The strings of a TXT record joined, as its readers take them. */
function joinedText(data: string): string {
  const parts = [...data.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map(([, part = '']) => part);
  const bytes = parts
    .join('')
    .replaceAll(/\\(\d{3}|.)/gs, (_all, escaped: string) =>
      escaped.length === 3 ? String.fromCharCode(Number(escaped)) : escaped,
    );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** The names of its fields are those of the public resolvers. */
export function toJsonAnswer({ returnCode, flags, questions, answers }: DnsAnswer) {
  return {
    Status: returnCode,
    TC: flags.tc,
    RD: flags.rd,
    RA: flags.ra,
    AD: flags.ad,
    CD: flags.cd,
    Question: questions.map(({ name, type }) => ({ name, type })),
    Answer: answers.map(({ name, type, ttl, data }) => ({
      ...{ name, type, TTL: ttl, data },
      ...(type === 'TXT' ? { text: joinedText(data) } : {}),
    })),
  };
}

function sectionOf(title: string, records: readonly DnsRecord[]): string {
  if (records.length === 0) return '';
  const lines = records.map(
    (record) => `${record.name}\t${record.ttl}\t${record.class}\t${record.type}\t${record.data}\n`,
  );
  return `\n;; ${title} SECTION:\n${lines.join('')}`;
}

/** Header, sections, time and server; a section without records is left out, as dig does. */
export function toTextAnswer(answer: DnsAnswer, server: NameServer, totalMs: number): string {
  const { id, returnCode, flags, questions, answers, authorities, additionalCount } = answer;
  const set = Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [` ${name}`] : []));
  const counts = `QUERY: ${questions.length}, ANSWER: ${answers.length}, AUTHORITY: ${authorities.length}, ADDITIONAL: ${additionalCount}`;
  const asked = questions.map(
    (question) => `;${question.name}\t\t${question.class}\t${question.type}\n`,
  );
  return [
    `;; ->>HEADER<<- opcode: QUERY, status: ${returnCode}, id: ${id}\n`,
    `;; flags: qr${set.join('')}; ${counts}\n`,
    `\n;; QUESTION SECTION:\n${asked.join('')}`,
    sectionOf('ANSWER', answers),
    sectionOf('AUTHORITY', authorities),
    `\n;; Query time: ${Math.round(totalMs)} msec\n;; SERVER: ${textOf(server)}`,
  ].join('');
}

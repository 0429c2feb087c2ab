// SQLite only: it tests what channels send.
import assert from 'node:assert/strict';
import test from 'node:test';
import { slackBody } from '../../../../control-plane/notifications/channels/slack.ts';
import { messageOf } from '../../../../control-plane/notifications/message.ts';
import { testFacts } from '../../../support/notifications.ts';

interface Block {
  text?: { text: string };
  fields?: { text: string }[];
}

function blocksOf(details: { label: string; value: string }[]): Block[] {
  const message = { ...messageOf(testFacts, 'id', 'https://m.example'), details };
  const body = slackBody(message, null) as { attachments: { blocks: Block[] }[] };
  return body.attachments[0]?.blocks ?? [];
}

test('evidence with its links is shown whole, below what fits into a column', () => {
  const link = `https://m.example/console/#/checks/${'c'.repeat(36)}/results/${'r'.repeat(36)}`;
  const value = `only we saw it failing. ${`we: <b> & passing (${link}). `.repeat(4)}`.trim();
  const blocks = blocksOf([
    { label: 'Since', value: 'today' },
    { label: 'Compared', value: '7 results' },
    { label: 'Shop', value },
    { label: 'More', value: 'none' },
  ]);
  const escaped = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  assert.deepEqual(
    blocks.slice(2, -1).map(({ text, fields }) => text?.text ?? fields?.map((of) => of.text)),
    [['*Since*\ntoday', '*Compared*\n7 results'], `*Shop*\n${escaped}`, ['*More*\nnone']],
  );
});

test('however many and long they are, Slack takes them, and no entity is cut', () => {
  const texts = ['<&>'.repeat(2_000), 'a'.repeat(380), '&'.repeat(76), 'ü<'.repeat(1_500)];
  const details = Array.from({ length: 120 }, (_, index) => ({
    label: texts[(index + 1) % 4] ?? '',
    value: texts[index % 4] ?? '',
  }));
  const blocks = blocksOf(details);
  assert.ok(blocks.length <= 50, String(blocks.length));
  for (const { text, fields } of blocks) {
    assert.ok((text?.text.length ?? 0) <= 3_000);
    assert.ok((fields ?? []).length <= 10);
    for (const field of fields ?? []) assert.ok(field.text.length <= 2_000);
    const all = [text?.text ?? '', ...(fields ?? []).map((of) => of.text)].join('\n');
    assert.doesNotMatch(all.replace(/^<https:.*>$/m, ''), /&(?!amp;|lt;|gt;)|[<>]/);
  }
  assert.match(blocks.at(-1)?.text?.text ?? '', /^<https:\/\/m\.example\|Open the monitor>$/);
});

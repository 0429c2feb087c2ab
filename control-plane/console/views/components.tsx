/** Every component in both themes, for those who work on the console: `#/components`. */
import { useState } from 'preact/hooks';
import { Ask } from '../parts/ask.tsx';
import { Bars } from '../parts/bars.tsx';
import { Chart } from '../parts/chart.tsx';
import { Code, Pairs } from '../parts/code.tsx';
import { Escalation } from '../parts/escalation.tsx';
import { glyphs, Picture, State } from '../parts/icons.tsx';
import { Action, Choice, Facts, Section, Select, Table, Tags, Tile } from '../parts/layout.tsx';
import { Log } from '../parts/log.tsx';
import { Empty, Failure, Loading, Refusal } from '../parts/notices.tsx';
import { QrCode } from '../parts/qr-code.tsx';
import { Strips } from '../parts/strip.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { Phases } from '../parts/waterfall.tsx';
import { Problem } from '../problem.ts';
import { outcomes, states } from '../state.ts';

const second = 1_000;
const start = Date.parse('2026-11-21T12:00:00Z');
const instants = Array.from({ length: 24 }, (_, index) => start / second + index * 900);
const times = instants.map((_, index) => 120 + 40 * Math.sin(index / 3));
const letters = Object.keys(outcomes).join('').repeat(4);
const options = [
  ['first', 'First'],
  ['second', 'Second'],
] as const;
const kinds = ['', 'primary', 'danger', 'plain-button'] as const;
const notices = ['', 'empty', 'stale', 'warning', 'error', 'failure'] as const;

function Components({ theme }: { theme: string }) {
  const [chosen, choose] = useState('first');
  const [isAsking, setAsking] = useState(false);
  const [isLoading, setLoading] = useState(false);
  const choice = { options: [...options], value: chosen, onChange: choose };
  return (
    <div class="theme" data-theme={theme}>
      <Section title={`States, ${theme}`}>
        <p class="actions">
          {Object.values({ ...states, ...outcomes }).map(({ tone, word }) => (
            <State key={word} tone={tone} word={word} />
          ))}
        </p>
        <p class="actions">
          {Object.keys(glyphs).map((name) => (
            <span key={name} title={name}>
              <Picture name={name as keyof typeof glyphs} />
            </span>
          ))}
        </p>
      </Section>
      <Section
        title={`Actions, ${theme}`}
        aside={<Choice label={`Choice, ${theme}`} {...choice} />}
      >
        <div class="actions">
          {kinds.map((kind) => (
            <button type="button" class={kind} key={kind}>
              {kind === '' ? 'button' : kind}
            </button>
          ))}
          <button type="button" disabled>
            disabled
          </button>
          <Action
            word="Action"
            busy="Working"
            run={() => new Promise((resolve) => setTimeout(resolve, second))}
          />
          <button type="button" onClick={() => setAsking(true)}>
            Ask
          </button>
          <button type="button" onClick={() => setLoading(!isLoading)}>
            Loading
          </button>
          <Select label="Select" {...choice} />
        </div>
        {isAsking && (
          <Ask
            title="Delete the example?"
            yes="Delete"
            onYes={async () => setAsking(false)}
            onNo={() => setAsking(false)}
          >
            This cannot be undone.
          </Ask>
        )}
      </Section>
      <Section title={`Data, ${theme}`}>
        <div class="tiles">
          <Tile name="Availability" value="99.95 %" tone="good" />
          <Tile name="p95" value="222 ms" />
        </div>
        <Facts
          entries={[
            ['Time', <Time key="at" at={start} />],
            ['Ago', <Ago key="ago" at={start} />],
            ['Tags', <Tags key="tags" tags={['shop', 'production']} />],
          ]}
        />
        <Table label={`Example, ${theme}`} columns={['Name', ['Runs', 'right']]}>
          <tr>
            <th scope="row">Shop</th>
            <td class="right">
              <Bars
                runs={{
                  outcomes: letters,
                  responseTimes: times.slice(0, letters.length).map(Math.round),
                  newestAt: null,
                  oldestAt: null,
                }}
              />
            </td>
          </tr>
        </Table>
        <Phases phases={{ wait: 2, dns: 12, connect: 20, tls: 31, firstByte: 90, total: 155 }} />
        <Strips
          names={['eu-west-1', 'office']}
          data={[instants, instants.map(() => 100), instants.map((_, at) => (at % 9 ? 100 : 0))]}
        />
        <Chart
          title={`Response time, ${theme}`}
          names={['eu-west-1', 'office']}
          data={[instants, times, times.map((ms) => ms * 1.5)]}
          unit="milliseconds"
          events={[]}
        />
        <Escalation steps={[{ delayMinutes: 0, onCall: true }, { delayMinutes: 15 }]} repeats={1} />
      </Section>
      <Section title={`Texts, ${theme}`}>
        <Code label={`Code, ${theme}`} text={'{ "status": 200 }'} />
        <Pairs label="Pairs" pairs={{ 'content-type': 'text/html' }} />
        <Log
          label={`Log, ${theme}`}
          lines={['INFO', 'WARN', 'ERROR'].map((level) => ({ time: start, level, msg: 'a line' }))}
        />
        <QrCode text="https://monitor.example/" label="A code to scan" />
      </Section>
      <Section title={`Notices, ${theme}`}>
        {notices.map((kind) => (
          <p class={`notice ${kind}`} key={kind}>
            notice {kind}
          </p>
        ))}
        <Empty title="Empty">With advice.</Empty>
        <Failure problem={new Problem(500, 'an error of the server')} reload={() => {}} />
        <Refusal text="Refused: a field is missing." />
        {isLoading && <Loading rows={2} />}
      </Section>
    </div>
  );
}

export function ComponentsView() {
  return (
    <>
      <h1>Components</h1>
      <Components theme="light" />
      <Components theme="dark" />
    </>
  );
}

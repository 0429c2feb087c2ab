/** Metrics of a scrape, before they are text. */

type Labels = Readonly<Record<string, string>>;

export interface Sample {
  labels: Labels;
  value: number;
  /** Of a summary or a histogram. */
  suffix?: '_sum' | '_count' | '_bucket';
}

export interface Family {
  name: string;
  type: 'gauge' | 'summary' | 'counter' | 'histogram';
  help: string;
  samples: readonly Sample[];
}

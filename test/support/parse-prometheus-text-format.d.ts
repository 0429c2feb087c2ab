/** The package brings no types. */
declare module 'parse-prometheus-text-format' {
  interface Family {
    name: string;
    help: string;
    type: string;
    metrics: {
      labels?: Record<string, string>;
      value?: string;
      quantiles?: Record<string, string>;
      sum?: string;
      count?: string;
    }[];
  }
  const parse: (text: string) => Family[];
  export default parse;
}

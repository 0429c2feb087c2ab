/** What we use of Eleventy, which comes without types. */
export interface MarkdownToken {
  type: string;
  tag: string;
  info: string;
  content: string;
  attrs: [name: string, value: string][] | null;
  children: MarkdownToken[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

type Rule = (tokens: MarkdownToken[], index: number) => string;

export interface Markdown {
  core: {
    ruler: {
      push(
        name: string,
        rule: (state: { tokens: MarkdownToken[]; env: { page: { inputPath: string } } }) => void,
      ): void;
    };
  };
  renderer: { rules: Record<string, Rule | undefined> };
}

export interface PageData {
  page: { inputPath: string; filePathStem: string; rawInput: string };
}

export interface EleventyConfig {
  setQuietMode(isQuiet: boolean): void;
  setUseGitIgnore(uses: boolean): void;
  amendLibrary(name: 'md', amend: (markdown: Markdown) => void): void;
  addGlobalData(name: string, value: unknown): void;
  addTemplate(path: string, content: string): void;
  addPassthroughCopy(paths: Record<string, string>): void;
  setTemplateFormats(formats: string[]): void;
  setIncludesDirectory(folder: string): void;
}

declare class Eleventy {
  constructor(
    input: string,
    output: string,
    options: { quietMode: boolean; configPath: string; config: (config: EleventyConfig) => void },
  );
  write(): Promise<unknown>;
}

export { Eleventy as default };

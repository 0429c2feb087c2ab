/** A conversation with a language model, in the words of no provider. */

/** What the model may call. `parameters` is a JSON schema. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly parameters: Record<string, unknown>;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** As the model gave it; not trusted. */
  readonly input: unknown;
  /** Why the input cannot be read at all; null when it is JSON. */
  readonly problem: string | null;
}

export interface ToolResult {
  readonly id: string;
  readonly text: string;
  readonly isError: boolean;
}

export type Turn =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'model'; readonly text: string; readonly calls: readonly ToolCall[] }
  | { readonly role: 'results'; readonly results: readonly ToolResult[] };

export interface Conversation {
  readonly instructions: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolDeclaration[];
}

export interface ModelReply {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** In and out together; null where the server does not say. */
  readonly tokens: number | null;
}

/** How one provider is asked and how it answers. Both directions are pure. */
export interface ModelProtocol {
  /** Appended to the base URL. */
  readonly path: string;
  headers(key: string | null): Record<string, string>;
  body(model: string, conversation: Conversation): Record<string, unknown>;
  /** Throws when the answer is not of this protocol. */
  reply(answer: unknown): ModelReply;
}

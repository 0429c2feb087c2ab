/** What the code editor needs of CodeMirror. */
export {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
export { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
export { javascript, localCompletionSource, snippets } from '@codemirror/lang-javascript';
export {
  HighlightStyle,
  bracketMatching,
  ensureSyntaxTree,
  indentOnInput,
  syntaxHighlighting,
  syntaxTree,
} from '@codemirror/language';
export { forceLinting, lintGutter, lintKeymap, linter } from '@codemirror/lint';
export { search, searchKeymap } from '@codemirror/search';
export { Compartment, EditorState, StateEffect, StateField } from '@codemirror/state';
export { Decoration, EditorView, hoverTooltip, keymap, lineNumbers } from '@codemirror/view';
export { tags } from '@lezer/highlight';
export { StyleModule } from 'style-mod';
export type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
export type { Diagnostic } from '@codemirror/lint';
export type { SyntaxNode } from '@lezer/common';

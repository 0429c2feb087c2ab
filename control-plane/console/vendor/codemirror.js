/** What the code editor needs of CodeMirror. `npm run build` makes it one file. */
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
/** @typedef {import('@codemirror/autocomplete').Completion} Completion */
/** @typedef {import('@codemirror/autocomplete').CompletionContext} CompletionContext */
/** @typedef {import('@codemirror/autocomplete').CompletionResult} CompletionResult */
/** @typedef {import('@codemirror/lint').Diagnostic} Diagnostic */
/** @typedef {import('@lezer/common').SyntaxNode} SyntaxNode */

/** The code editor: CodeMirror, with what scripts may use and where they are wrong. Loaded with the first script. */
import type { CodeMark } from './code-marks.ts';
import {
  Compartment,
  Decoration,
  EditorState,
  EditorView,
  HighlightStyle,
  StateEffect,
  StateField,
  StyleModule,
  autocompletion,
  bracketMatching,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  defaultKeymap,
  ensureSyntaxTree,
  forceLinting,
  history,
  historyKeymap,
  indentOnInput,
  indentWithTab,
  javascript,
  keymap,
  lineNumbers,
  lintGutter,
  lintKeymap,
  linter,
  search,
  searchKeymap,
  syntaxHighlighting,
  tags,
  type Diagnostic,
} from './codemirror.ts';
import { completeScript, explainName } from './code-names.ts';

import type { Surroundings } from './code-names.ts';
/** lines count from 1 */
export interface LineProblem {
  line: number;
  message: string;
}

/** More say nothing new: one error makes others of what follows. */
const maxSyntaxErrors = 20;
/** A text that is being typed is wrong at every letter: its errors are shown after a pause, in ms. */
const settleMs = 500;
/** How long parsing a text for its errors may hold up the page, in ms. */
const parseBudget = 100;

/**
 * The page allows no style elements, which CodeMirror uses in a document. In a shadow root it adopts
 * style sheets, which are allowed, and a document adopts them just as well.
 */
function adoptStyles() {
  const shadow = document.createElement('div').attachShadow({ mode: 'open' });
  StyleModule.mount(shadow, new StyleModule({}));
  for (const key of Object.getOwnPropertySymbols(shadow)) {
    Object.defineProperty(document, key, { value: Reflect.get(shadow, key) });
  }
}
adoptStyles();

const theme = EditorView.theme({
  '&': {
    border: '1px solid var(--line)',
    borderRadius: '6px',
    background: 'var(--surface)',
    color: 'var(--ink)',
    fontSize: '13px',
    // Long lines scroll in the field; they do not widen the page.
    contain: 'inline-size',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': {
    fontFamily: 'var(--mono)',
    lineHeight: '1.5',
    minHeight: '8rem',
    maxHeight: '28rem',
    overflow: 'auto',
  },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-gutters': {
    background: 'var(--raised)',
    color: 'var(--muted)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-failed-line': { background: 'var(--bad-wash)' },
  '&.cm-focused .cm-matchingBracket, .cm-matchingBracket': {
    background: 'var(--raised)',
    outline: '1px solid var(--muted)',
  },
  '.cm-searchMatch': { background: 'var(--warn-wash)', outline: '1px solid var(--warn-bar)' },
  '.cm-tooltip': {
    background: 'var(--surface)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    maxWidth: 'min(34rem, 92vw)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    background: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionDetail': { fontStyle: 'normal', opacity: '0.85' },
  '.cm-explained': { padding: '0.4rem 0.6rem', overflowWrap: 'anywhere' },
  '.cm-explained code': { display: 'block' },
  '.cm-panels': {
    background: 'var(--raised)',
    color: 'var(--ink)',
    borderColor: 'var(--line)',
  },
  '.cm-panels .cm-textfield, .cm-panels .cm-button': {
    background: 'var(--surface)',
    backgroundImage: 'none',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
  },
  '.cm-diagnostic': { fontFamily: 'inherit', whiteSpace: 'pre-wrap' },
});

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: 'var(--line-6)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.regexp, tags.escape], color: 'var(--warn)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: 'var(--accent)',
  },
  { tag: [tags.typeName, tags.className], color: 'var(--accent)' },
]);

/** The errors of runs, each at the start of its line, which moves with what is typed before it. */
const setMarks = (
  StateEffect.define as typeof StateEffect.define<{ at: number; message: string }[]>
)();
const marksField = StateField.define({
  create: () => [] as { at: number; message: string }[],
  update(marks, transaction) {
    const set = transaction.effects.find((effect) => effect.is(setMarks));
    if (set !== undefined) return set.value;
    if (!transaction.docChanged) return marks;
    // A line that was changed may be right now.
    return marks
      .filter(({ at }) => {
        const { from, to } = transaction.startState.doc.lineAt(at);
        return !transaction.changes.touchesRange(from, to);
      })
      .map(({ at, message }) => ({ at: transaction.changes.mapPos(at, 1), message }));
  },
  provide: (field) =>
    EditorView.decorations.compute([field], (state) =>
      Decoration.set(
        [...new Set(state.field(field).map(({ at }) => state.doc.lineAt(at).from))]
          .sort((one, other) => one - other)
          .map((from) => Decoration.line({ class: 'cm-failed-line' }).range(from)),
      ),
    ),
});

/** The places where the text is no TypeScript. */
function syntaxErrors(state: EditorState): Diagnostic[] {
  const found: Diagnostic[] = [];
  const tree = ensureSyntaxTree(state, state.doc.length, parseBudget);
  tree?.iterate({
    enter({ type, from, to }) {
      if (!type.isError || found.length >= maxSyntaxErrors) return;
      const text = state
        .sliceDoc(from, Math.min(to, from + 30))
        .split('\n', 1)
        .join('');
      const message = text === '' ? 'Something is missing here' : `Unexpected “${text}”`;
      const end = Math.min(to, state.doc.lineAt(from).to);
      found.push({ from, to: Math.max(end, from), severity: 'error', message });
    },
  });
  return found;
}

function runErrors(state: EditorState): Diagnostic[] {
  return state.field(marksField).map(({ at, message }) => {
    const { from, to, text } = state.doc.lineAt(at);
    const indent = text.length - text.trimStart().length;
    return { from: from + indent, to, severity: 'error', source: 'run', message };
  });
}

interface EditorOptions {
  parent: HTMLElement;
  text: string;
  attributes: Record<string, string>;
  isReadOnly: boolean;
  surroundings: Surroundings;
  onChange: (text: string) => void;
  onProblems: (problems: LineProblem[]) => void;
}

/** The separator of lines that keeps a text as it is: one of several kinds stays in its lines. */
function separatorOf(text: string) {
  return /\r\n/.test(text) && !/(^|[^\r])\n|\r(?!\n)/.test(text) ? '\r\n' : '\n';
}

/** What every editor has, with whatever text. */
const editing = [
  lineNumbers(),
  history(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  search({ top: true }),
  javascript({ typescript: true }),
  syntaxHighlighting(highlighting),
  marksField,
  lintGutter(),
  linter(({ state }) => [...syntaxErrors(state), ...runErrors(state)], {
    delay: settleMs,
    needsRefresh: ({ transactions }) =>
      transactions.some(({ effects }) => effects.some((effect) => effect.is(setMarks))),
  }),
  keymap.of([
    // After Escape, Tab leaves the field until something is typed or it is entered anew.
    {
      key: 'Escape',
      run: (view) => {
        view.setTabFocusMode(true);
        return false;
      },
    },
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...lintKeymap,
    ...defaultKeymap,
    indentWithTab,
  ]),
  EditorView.domEventHandlers({
    focus: (_event, view) => {
      view.setTabFocusMode(false);
    },
  }),
  theme,
];

export function openEditor(options: EditorOptions) {
  const { parent, surroundings, onChange, onProblems } = options;
  const changing = new Compartment();
  const asGiven = ({
    attributes,
    isReadOnly,
  }: Pick<EditorOptions, 'attributes' | 'isReadOnly'>) => [
    EditorView.contentAttributes.of({
      ...attributes,
      ...(isReadOnly && { 'aria-readonly': 'true' }),
    }),
    EditorState.readOnly.of(isReadOnly),
  ];
  const stateOf = (text: string) => {
    const separator = separatorOf(text);
    return EditorState.create({
      doc: text,
      extensions: [
        EditorState.lineSeparator.of(separator),
        EditorView.clipboardInputFilter.of((pasted) => pasted.replaceAll(/\r\n?|\n/g, separator)),
        editing,
        autocompletion({ override: [completeScript(surroundings)], maxRenderedOptions: 60 }),
        explainName(surroundings),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          update.view.setTabFocusMode(false);
          if (isFollowing) return;
          const text = update.state.sliceDoc();
          unseen.push(text);
          onChange(text);
        }),
        EditorView.updateListener.of(({ docChanged, transactions }) => {
          const isMarked = transactions.some(({ effects }) =>
            effects.some((one) => one.is(setMarks)),
          );
          if (!docChanged && !isMarked) return;
          clearTimeout(settling);
          settling = setTimeout(reportProblems, settleMs);
        }),
        changing.of(asGiven(options)),
      ],
    });
  };
  let isFollowing = false;
  /** What was typed and has not come back yet: a form shows it late, when more has been typed. */
  let unseen: string[] = [];
  let known = '';
  let settling: ReturnType<typeof setTimeout> | undefined;
  const reportProblems = () => {
    const { state } = view;
    const problems = [...runErrors(state), ...syntaxErrors(state)].map(({ from, message }) => ({
      line: state.doc.lineAt(from).number,
      message,
    }));
    const text = JSON.stringify(problems);
    if (text === known) return;
    known = text;
    onProblems(problems);
  };
  const view = new EditorView({ state: stateOf(options.text), parent });
  reportProblems();

  return {
    change(given: Pick<EditorOptions, 'attributes' | 'isReadOnly'>) {
      view.dispatch({ effects: changing.reconfigure(asGiven(given)) });
    },
    /** Shows another text: one of a colleague, or of a run. */
    follow(text: string) {
      const seen = unseen.indexOf(text);
      unseen = unseen.slice(seen + 1);
      if (seen >= 0 || text === view.state.sliceDoc()) return;
      isFollowing = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      isFollowing = false;
    },
    /** Marks the lines of errors and scrolls to the first. */
    mark(marks: CodeMark[]) {
      const { doc } = view.state;
      const placed = marks
        .filter(({ line }) => line <= doc.lines)
        .map(({ line, message }) => ({ at: doc.line(line).from, message }));
      const [first] = placed;
      view.dispatch({
        effects: [
          setMarks.of(placed),
          ...(first === undefined ? [] : [EditorView.scrollIntoView(first.at, { y: 'center' })]),
        ],
      });
      forceLinting(view);
    },
    goTo(line: number) {
      const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines));
      view.dispatch({
        selection: { anchor: from },
        effects: EditorView.scrollIntoView(from, { y: 'center' }),
      });
      view.focus();
    },
    close() {
      clearTimeout(settling);
      view.destroy();
    },
  };
}

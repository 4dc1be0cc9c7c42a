// The editor: CodeMirror with Python, completion from the running interpreter, and notebook key bindings.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const style = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], color: "var(--code-name)" },
]);

const markLine = StateEffect.define();
const wrongLine = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    for (const effect of change.effects) if (effect.is(markLine)) return effect.value;
    return change.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Completions of the dotted name before the cursor, from the interpreter. */
function completions(complete) {
  return async (context) => {
    const before = context.matchBefore(/[A-Za-z_][\w.]*/);
    if (!before || (!context.explicit && before.text.length < 2 && !before.text.includes("."))) return null;
    const names = await complete(before.text);
    const from = before.from + before.text.lastIndexOf(".") + 1;
    const options = names.map(({ name, keyword }) => ({
      label: name.slice(name.lastIndexOf(".") + 1),
      type: keyword ? "keyword" : "variable",
    }));
    return options.length ? { from, options, validFor: /^\w*$/ } : null;
  };
}

/**
 * An editor in an element. `run` is called for Shift-Enter and Ctrl-Enter, `complete(text)` returns names or [].
 * Tab indents; Escape, then Tab leaves the editor.
 */
export function createEditor({ parent, text, label, run, complete, change = () => {} }) {
  const runKey = { run: () => (run(), true) };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([{ key: "Shift-Enter", ...runKey }, { key: "Mod-Enter", ...runKey }])),
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of("    "),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        autocompletion({ override: [completions(complete)] }),
        python(),
        syntaxHighlighting(style),
        wrongLine,
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
        EditorView.contentAttributes.of({
          "aria-label": label,
          "aria-description": "Tab indents. Escape, then Tab leaves the editor.",
          spellcheck: "false",
          tabindex: "0",
        }),
        EditorView.updateListener.of((update) => update.docChanged && change(update.state.doc.toString())),
      ],
    }),
  });
  return {
    view,
    get text() {
      return view.state.doc.toString();
    },
    set text(value) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
    },
    /** Mark the line of an error; null removes the mark. */
    mark(line) {
      const exists = line && line <= view.state.doc.lines;
      const marks = exists
        ? Decoration.set([Decoration.line({ class: "wrong-line" }).range(view.state.doc.line(line).from)])
        : Decoration.none;
      view.dispatch({ effects: markLine.of(marks) });
    },
    focus: () => view.focus(),
  };
}

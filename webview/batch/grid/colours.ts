/** Resolves the theme's colors for a canvas, once per theme. */
import { OUTCOMES, type Outcome } from '../../../src/trace/outcome.ts';
import { outcomeColour } from '../../components/marks/glyphShapes.ts';

export interface GridColours {
  readonly background: string;
  readonly text: string;
  readonly dim: string;
  readonly tick: string;
  readonly line: string;
  readonly hover: string;
  readonly group: string;
  readonly focus: string;
  readonly selected: string;
  readonly passed: string;
  /** Of the mark of a cell whose verdicts contradict each other. */
  readonly disputed: string;
  readonly family: string;
  readonly outcomes: Readonly<Record<Outcome, string>>;
}

const VARIABLES = {
  background: '--vscode-editor-background',
  text: '--vscode-foreground',
  dim: '--dim',
  tick: '--tick',
  line: '--vscode-panel-border',
  hover: '--vscode-list-hoverBackground',
  group: '--vscode-sideBar-background',
  focus: '--vscode-focusBorder',
  selected: '--vscode-list-activeSelectionBackground',
  passed: outcomeColour('passed'),
  disputed: '--vscode-charts-yellow',
} as const;

/** Resolves all colors together: alternating between reads and changes would trigger a layout for each. */
export function coloursOf(element: HTMLElement): GridColours {
  const probes = element.ownerDocument.createElement('span');
  probes.hidden = true;
  const probe = (variable: string): HTMLElement => {
    const one = element.ownerDocument.createElement('i');
    one.style.color = `var(${variable})`;
    probes.append(one);
    return one;
  };
  const requested = Object.fromEntries(
    Object.entries(VARIABLES).map(([name, variable]) => [name, probe(variable)]),
  ) as Record<keyof typeof VARIABLES, HTMLElement>;
  const outcomes = OUTCOMES.map((outcome) => [outcome, probe(outcomeColour(outcome))] as const);
  element.append(probes);
  const colour = (one: HTMLElement): string => getComputedStyle(one).color;
  const colours: GridColours = {
    background: colour(requested.background),
    text: colour(requested.text),
    dim: colour(requested.dim),
    tick: colour(requested.tick),
    line: colour(requested.line),
    hover: colour(requested.hover),
    group: colour(requested.group),
    focus: colour(requested.focus),
    selected: colour(requested.selected),
    passed: colour(requested.passed),
    disputed: colour(requested.disputed),
    family: getComputedStyle(element).fontFamily,
    outcomes: Object.fromEntries(outcomes.map(([outcome, one]) => [outcome, colour(one)])) as Record<Outcome, string>,
  };
  probes.remove();
  return colours;
}

/** Calls `change` when the host changes the theme. */
export function onTheme(change: () => void): () => void {
  const observer = new MutationObserver(change);
  observer.observe(document.body, {
    attributes: true,
    attributeFilter: ['class', 'data-vscode-theme-kind', 'data-vscode-theme-id'],
  });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style', 'class'] });
  const media = window.matchMedia('(prefers-color-scheme: dark)');
  media.addEventListener('change', change);
  return () => {
    observer.disconnect();
    media.removeEventListener('change', change);
  };
}

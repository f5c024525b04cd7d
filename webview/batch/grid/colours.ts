/** The theme's colours as a canvas needs them: resolved once, again when the theme changes. */
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
  readonly family: string;
  readonly outcomes: Readonly<Record<Outcome, string>>;
}

export function coloursOf(element: HTMLElement): GridColours {
  const probe = element.ownerDocument.createElement('span');
  probe.hidden = true;
  element.append(probe);
  const colour = (variable: string): string => {
    probe.style.color = `var(${variable})`;
    return getComputedStyle(probe).color;
  };
  const colours: GridColours = {
    background: colour('--vscode-editor-background'), text: colour('--vscode-foreground'), dim: colour('--dim'), tick: colour('--tick'), line: colour('--vscode-panel-border'),
    hover: colour('--vscode-list-hoverBackground'), group: colour('--vscode-sideBar-background'), focus: colour('--vscode-focusBorder'),
    selected: colour('--vscode-list-activeSelectionBackground'), passed: colour(outcomeColour('passed')),
    family: getComputedStyle(element).fontFamily,
    outcomes: Object.fromEntries(OUTCOMES.map((outcome) => [outcome, colour(outcomeColour(outcome))])) as Record<Outcome, string>,
  };
  probe.remove();
  return colours;
}

/** Tells when the host changed the theme. */
export function onTheme(change: () => void): () => void {
  const observer = new MutationObserver(change);
  observer.observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-kind', 'data-vscode-theme-id'] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style', 'class'] });
  const media = window.matchMedia('(prefers-color-scheme: dark)');
  media.addEventListener('change', change);
  return () => {
    observer.disconnect();
    media.removeEventListener('change', change);
  };
}

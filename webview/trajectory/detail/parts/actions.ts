/** Actions on a visible value: copy, and open as a document. */
import { useMemo } from 'preact/hooks';
import type { ValueViewProps } from '../../../values/valueView.tsx';
import type { TrajectoryView } from '../../view.ts';

export function useValueActions(view: TrajectoryView): Pick<ValueViewProps, 'onCopy' | 'onDocument'> {
  return useMemo(
    () => ({
      onCopy: (text: string) => view.act({ do: 'copy', text }),
      ...(view.host.kind === 'vscode'
        ? {
            onDocument: (title: string, text: string, language: string) =>
              view.act({ do: 'document', title, text, language }),
          }
        : {}),
    }),
    [view],
  );
}

/** A field that filters a list by words, with the number of matches. The key / focuses it. */
import { useRef } from 'preact/hooks';
import { count } from '../../../src/common/units.ts';
import { TextField } from '../../components/controls.tsx';
import { useKeys } from '../../keys.ts';

/** Whether a text has all words. */
export function hasWords(words: string, text: string): boolean {
  const lower = text.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

interface FilterFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly matches: number;
  readonly of: number;
  /** Called on Enter and ↓, which lead to the matches. */
  readonly onLeave?: () => void;
}

export function FilterField({ label, value, onInput, matches, of, onLeave }: FilterFieldProps) {
  const field = useRef<HTMLElement>(null);
  useKeys({ '/': () => field.current?.focus() });
  return (
    <div class="world-filter">
      <TextField
        label={label}
        placeholder={label}
        icon="filter"
        value={value}
        onInput={onInput}
        onEscape={() => onInput('')}
        {...(onLeave === undefined ? {} : { onEnter: onLeave, onArrowDown: onLeave })}
        inputRef={field}
      />
      <span class="dim world-filter-count" role="status">
        {value.trim() === ''
          ? count(of)
          : matches === 0
            ? `No match for “${value.trim()}”`
            : `${count(matches)} of ${count(of)}`}
      </span>
    </div>
  );
}

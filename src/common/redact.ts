/** What a secret's value is replaced by wherever it would be stored or shown. */
export const REDACTED = '[redacted]';

/**
 * A function that replaces every occurrence of the given secret values in a string.
 * Values shorter than 4 characters are left alone: replacing them would wreck the text and hide nothing.
 */
export function redactor(secrets: Iterable<string>): (text: string) => string {
  const values = [...new Set(secrets)].filter((value) => value.length >= 4).sort((a, b) => b.length - a.length);
  if (values.length === 0) return (text) => text;
  // A secret also appears in the form JSON gives it.
  const forms = values.flatMap((value) => {
    const quoted = JSON.stringify(value).slice(1, -1);
    return quoted === value ? [value] : [value, quoted];
  });
  const pattern = new RegExp(forms.map((value) => value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g');
  return (text) => text.replace(pattern, REDACTED);
}

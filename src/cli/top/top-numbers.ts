// Numbers as `isthmus top` shows them: short enough for a column, and two digits of them are enough. Pure.

const UNITS = ['', 'k', 'M', 'G', 'T', 'P', 'E'] as const;

/** `-` `0` `<0.1` `4.2` `42` `420` `4.2k` `42M`: powers of a thousand. */
export function compact(value: number | null): string {
  if (value === null) return '-';
  if (value === 0) return '0';
  if (value < 0.05) return '<0.1';
  let rest = value;
  for (const unit of UNITS) {
    const text = rest < 9.95 ? rest.toFixed(1).replace(/\.0$/, '') : rest.toFixed(0);
    if (Number(text) < 1000) return `${text}${unit}`;
    rest /= 1000;
  }
  return 'many';
}

/** `12s` `4m 05s` `3h 04m` `12d 3h`. */
export function spelledUptime(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ] as const;
  if (days > 0) return `${days}d ${hours}h`;
  if (hours > 0) return `${hours}h ${two(minutes)}m`;
  if (minutes > 0) return `${minutes}m ${two(whole % 60)}s`;
  return `${whole}s`;
}

const two = (value: number): string => String(value).padStart(2, '0');

#!/bin/sh
# moot guard 1 @DIGEST@
# Refuses a commit or push that changes files which somebody else has claimed with moot. Made by `moot guard install`,
# removed by `moot guard remove`. The hook that was here before is now @HOOK@.before-moot, and runs first.
hook=@HOOK@
python=@PYTHON@
here=$(cd "${0%/*}" && pwd -P) || exit 0
before=$here/$hook.before-moot
case $MOOT_GUARD_BEFORE in "$PPID" | "$$") exit 0 ;; esac # called again, by the hook that it calls
refs=.
[ "$hook" != pre-push ] || refs=$(cat && echo .)

run_before() {
	[ -f "$before" ] && [ -x "$before" ] || return 0
	sh -c 'MOOT_GUARD_BEFORE=$$ exec "$0" "$@"' "$before" "$@"
}

run_moot() {
	if [ -x "$python" ]; then
		"$python" -E -P -m moot -C . guard check "$@"
	elif command -v moot >/dev/null 2>&1; then
		(unset PYTHONPATH && exec moot -C . guard check "$@")
	else
		return 127
	fi
}

if [ "$hook" = pre-push ]; then
	printf %s "${refs%.}" | run_before "$@" || exit $?
	printf %s "${refs%.}" | run_moot "$hook" --refs - -- "$@" >/dev/null
else
	run_before "$@" || exit $?
	run_moot "$hook" >/dev/null
fi
code=$?
case $code in
0) ;;
3 | 130) exit "$code" ;;
127) echo "moot guard: moot is not installed, so this was not checked. To remove this hook, delete $0." >&2 ;;
*) echo "moot guard: moot could not check this (exit code $code). It was let through." >&2 ;;
esac
exit 0

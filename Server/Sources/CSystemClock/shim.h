#include <sys/timex.h>

/* Asks the kernel whether something keeps its clock right: 1 where it does, 0 where it does not, -1 where it does not say. */
static inline int countersign_clock_is_synchronised(void) {
    struct timex clock = {0};
    int state = adjtimex(&clock);
    if (state < 0) return -1;
    return state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
}

import ArgumentParser

/// A span of time, as `90d`, `12h`, `30m` or `45s`.
struct TimeSpan: ExpressibleByArgument {
    let seconds: Int64

    init?(argument: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = argument.last.flatMap({ units[$0] }), let count = Int64(argument.dropLast()), count >= 0,
            argument.first?.isNumber == true
        else { return nil }
        let (seconds, isTooLong) = count.multipliedReportingOverflow(by: unit)
        guard !isTooLong else { return nil }
        self.seconds = seconds
    }
}

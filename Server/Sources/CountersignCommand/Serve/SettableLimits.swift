import Store

/// The lifetimes and budgets that an operator can set, by the name of their limit.
enum SettableLimits {
    private static let durations: [String: any WritableKeyPath<Limits, Duration> & Sendable] = [
        "accessTokenLifetime": \.accessTokenLifetime,
        "activationLifetime": \.activationLifetime,
        "answerPeriod": \.answerPeriod,
        "authorizationCodeLifetime": \.authorizationCodeLifetime,
        "authorizationRequestLifetime": \.authorizationRequestLifetime,
        "claimedLifetime": \.claimedLifetime,
        "confirmationLifetime": \.confirmationLifetime,
        "continuationLifetime": \.continuationLifetime,
        "dispatchLifetime": \.dispatchLifetime,
        "outcomeLifetime": \.outcomeLifetime,
        "sessionLifetime": \.sessionLifetime,
    ]

    /// What one source of public requests, and one client, may do.
    private static let budgets: [String: any WritableKeyPath<Limits, Int> & Sendable] = [
        "answerBytes": \.answerBytes, "channelsPerSource": \.channelsPerSource,
        "connectionsPerSource": \.connectionsPerSource,
        "challengeBurst": \.challengeBurst, "challengesPerMinute": \.challengesPerMinute, "codeBurst": \.codeBurst,
        "codesPerMinute": \.codesPerMinute, "deviceCodeBurst": \.oauth.deviceCodeBurst,
        "deviceCodesPerMinute": \.oauth.deviceCodesPerMinute, "deviceGuessBurst": \.oauth.deviceGuessBurst,
        "deviceGuessesPerMinute": \.oauth.deviceGuessesPerMinute, "dispatchBurst": \.dispatchBurst,
        "dispatchesPerMinute": \.dispatchesPerMinute, "guessBurst": \.guessBurst,
        "guessesPerMinute": \.guessesPerMinute, "lastingGrantsPerClient": \.oauth.lastingGrantsPerClient,
        "openDispatchBurst": \.openDispatchBurst,
        "openDispatchesPerMinute": \.openDispatchesPerMinute, "personDispatchBurst": \.personDispatchBurst,
        "personDispatchesPerMinute": \.personDispatchesPerMinute,
        "pushedRequestBurst": \.oauth.pushedRequestBurst,
        "pushedRequestsPerMinute": \.oauth.pushedRequestsPerMinute, "refusalBurst": \.refusalBurst,
        "refusalsPerMinute": \.refusalsPerMinute, "signInBurst": \.signInBurst, "signInsPerMinute": \.signInsPerMinute,
    ]

    /// The defaults with `values` in place of some. A lifetime, in seconds, can be shortened or at most doubled: past
    /// that the threat model's assumptions no longer hold. A budget fits the largest office behind one address.
    ///
    /// Throws ``CommandFailure`` for another name, a lifetime outside one second to twice its default, or a budget of
    /// more than a million.
    static func applied(_ values: [String: Int], to defaults: Limits = Limits()) throws -> Limits {
        var limits = defaults
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            if let path = self.budgets[name] {
                guard value <= Limits.Fixed.largestBudget else {
                    throw CommandFailure(.usage, "\(name) can be at most \(Limits.Fixed.largestBudget)")
                }
                limits[keyPath: path] = value
                continue
            }
            guard let path = self.durations[name] else {
                throw CommandFailure(
                    .usage, "there is no lifetime or budget \(name)",
                    remedy: "There are: "
                        + (Array(self.durations.keys) + self.budgets.keys).sorted().joined(separator: ", ") + ".")
            }
            let longest = defaults[keyPath: path] * Limits.Fixed.lifetimeFactor
            guard .seconds(value) <= longest else {
                throw CommandFailure(.usage, "\(name) can be at most \(longest.components.seconds) seconds")
            }
            limits[keyPath: path] = .seconds(value)
        }
        return limits
    }
}

import Store

/// The lifetimes that an operator can set, by the name of their limit.
enum SettableLimits {
    private static let durations: [String: any WritableKeyPath<Limits, Duration> & Sendable] = [
        "accessTokenLifetime": \.accessTokenLifetime,
        "activationLifetime": \.activationLifetime,
        "authorizationCodeLifetime": \.authorizationCodeLifetime,
        "authorizationRequestLifetime": \.authorizationRequestLifetime,
        "claimedLifetime": \.claimedLifetime,
        "confirmationLifetime": \.confirmationLifetime,
        "continuationLifetime": \.continuationLifetime,
        "dispatchLifetime": \.dispatchLifetime,
        "outcomeLifetime": \.outcomeLifetime,
        "sessionLifetime": \.sessionLifetime,
    ]

    /// The defaults with `seconds` in place of some. A lifetime can be shortened or at most doubled: past that the
    /// threat model's assumptions no longer hold.
    ///
    /// Throws ``CommandFailure`` for another name, or a lifetime outside one second to twice its default.
    static func applied(_ seconds: [String: Int], to defaults: Limits = Limits()) throws -> Limits {
        var limits = defaults
        for (name, value) in seconds.sorted(by: { $0.key < $1.key }) {
            guard let path = self.durations[name] else {
                throw CommandFailure(
                    .usage, "there is no lifetime \(name)",
                    remedy: "There are: \(self.durations.keys.sorted().joined(separator: ", ")).")
            }
            let longest = defaults[keyPath: path] * 2
            guard .seconds(value) <= longest else {
                throw CommandFailure(.usage, "\(name) can be at most \(longest.components.seconds) seconds")
            }
            limits[keyPath: path] = .seconds(value)
        }
        return limits
    }
}

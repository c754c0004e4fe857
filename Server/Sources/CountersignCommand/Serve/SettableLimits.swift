import Passwords
import Settings

/// The lifetimes and budgets that an operator can set, by the name of their limit.
enum SettableLimits {
    private static let durations: [String: any WritableKeyPath<Limits, Duration> & Sendable] = [
        "accessTokenLifetime": \.accessTokenLifetime,
        "activationLifetime": \.activationLifetime,
        "answerPeriod": \.answerPeriod,
        "approvedDeviceLimit": \.approvedDeviceLimit,
        "authorizationCodeLifetime": \.authorizationCodeLifetime,
        "authorizationRequestLifetime": \.authorizationRequestLifetime,
        "claimedLifetime": \.claimedLifetime,
        "confirmationLifetime": \.confirmationLifetime,
        "continuationLifetime": \.continuationLifetime,
        "deviceApprovalLifetime": \.deviceApprovalLifetime,
        "dispatchLifetime": \.dispatchLifetime,
        "firstLockout": \.firstLockout,
        "identityHistoryRetention": \.identityHistoryRetention,
        "longestAttemptRest": \.passwords.longestAttemptRest,
        "oneTimePasswordLifetime": \.passwords.oneTimePasswordLifetime,
        "mailedLinkLifetime": \.mail.mailedLinkLifetime,
        "outcomeLifetime": \.outcomeLifetime,
        "sessionLifetime": \.sessionLifetime,
        "signingKeyLifetime": \.oauth.signingKeyLifetime,
    ]

    /// The settable limits that are numbers and no times: the budgets and shares of a source, a client or an account,
    /// and the least rate of answers.
    private static let budgets: [String: any WritableKeyPath<Limits, Int> & Sendable] = [
        "answerBytes": \.answerBytes, "channelsPerSource": \.channelsPerSource,
        "connectionsPerSource": \.connectionsPerSource,
        "challengeBurst": \.challengeBurst, "challengesPerMinute": \.challengesPerMinute, "codeBurst": \.codeBurst,
        "codesPerMinute": \.codesPerMinute, "deviceCodeBurst": \.oauth.deviceCodeBurst,
        "deviceCodesPerMinute": \.oauth.deviceCodesPerMinute, "dispatchBurst": \.dispatchBurst,
        "dispatchesPerMinute": \.dispatchesPerMinute, "guessBurst": \.guessBurst,
        "guessesPerMinute": \.guessesPerMinute, "identityHistoryRows": \.identityHistoryRows,
        "lastingGrantsPerClient": \.oauth.lastingGrantsPerClient,
        "mailBurst": \.mail.mailBurst, "mailsInARow": \.mail.mailsInARow,
        "mailsPerMinute": \.mail.mailsPerMinute,
        "nativeSignInBurst": \.oauth.nativeSignInBurst, "nativeSignInsPerMinute": \.oauth.nativeSignInsPerMinute,
        "openDispatchBurst": \.openDispatchBurst,
        "openDispatchesPerMinute": \.openDispatchesPerMinute, "personDispatchBurst": \.personDispatchBurst,
        "personDispatchesPerMinute": \.personDispatchesPerMinute,
        "attemptsInAll": \.passwords.attemptsInAll, "passwordAttempts": \.passwords.passwordAttempts,
        "passwordBurst": \.passwords.passwordBurst,
        "passwordsPerMinute": \.passwords.passwordsPerMinute,
        "secondFactorAttempts": \.passwords.secondFactorAttempts,
        "recoveryCodeAttempts": \.passwords.recoveryCodeAttempts,
        "provenRequestBurst": \.provenRequestBurst, "provenRequestsPerMinute": \.provenRequestsPerMinute,
        "targetChangeBurst": \.targetChangeBurst, "targetChangesPerMinute": \.targetChangesPerMinute,
        "deviceApprovalBurst": \.deviceApprovalBurst, "deviceApprovalsPerMinute": \.deviceApprovalsPerMinute,
        "pushesPerRequester": \.push.pushesPerRequester, "pushesPerRequesterDay": \.push.pushesPerRequesterDay,
        "pushesPerPerson": \.push.pushesPerPerson, "pushesPerPersonDay": \.push.pushesPerPersonDay,
        "pushedRequestBurst": \.oauth.pushedRequestBurst,
        "pushedRequestsPerMinute": \.oauth.pushedRequestsPerMinute, "refusalBurst": \.refusalBurst,
        "refusalsPerMinute": \.refusalsPerMinute, "signInBurst": \.signInBurst, "signInsPerMinute": \.signInsPerMinute,
    ]

    /// The cost of hashing passwords, the threads and the queue for hashing, and the least length of passwords.
    private static let hashing: [String: any WritableKeyPath<PasswordLimits, Int> & Sendable] = [
        "fewestCharacters": \.fewestCharacters, "hashingMemoryKiB": \.hashing.memoryKiB,
        "hashingPasses": \.hashing.passes, "hashingThreads": \.hashingThreads, "waitingHashes": \.waitingHashes,
        "waitingHashesPerNetwork": \.waitingHashesPerNetwork,
    ]

    /// Returns both defaults with `values` in place of some, as ``applied(_:to:)``. Throws ``CommandFailure`` also for
    /// a cost of hashes that a stored hash may not have.
    static func applied(
        _ values: [String: Int], to defaults: Limits, _ hashingDefaults: PasswordLimits
    ) throws -> (Limits, PasswordLimits) {
        var (others, hashing) = (values, hashingDefaults)
        for (name, path) in self.hashing {
            guard let value = others.removeValue(forKey: name) else { continue }
            guard value <= Limits.Fixed.largestBudget else {
                throw CommandFailure(.usage, "\(name) can be at most \(Limits.Fixed.largestBudget)")
            }
            hashing[keyPath: path] = value
        }
        let (memory, passes) = (hashing.hashing.memoryKiB, hashing.hashing.passes)
        guard memory >= 8, memory <= hashing.storedMemoryKiB, memory * passes <= hashing.storedWorkKiB else {
            throw CommandFailure(
                .usage, "a hash of \(memory) KiB and \(passes) passes cannot be",
                remedy:
                    "hashingMemoryKiB is 8 to \(hashing.storedMemoryKiB), and times hashingPasses \(hashing.storedWorkKiB) at most: "
                    + "`countersign hash calibrate` proposes both.")
        }
        guard hashing.fewestCharacters <= hashing.mostCharacters else {
            throw CommandFailure(.usage, "fewestCharacters can be at most \(hashing.mostCharacters)")
        }
        return (try self.applied(others, to: defaults), hashing)
    }

    /// Returns the defaults with `values` in place of some.
    ///
    /// An operator can shorten a lifetime, in seconds, or at most double it: a longer lifetime breaks the threat
    /// model's assumptions. A budget fits the largest office behind one address.
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
                        + (Array(self.durations.keys) + self.budgets.keys + self.hashing.keys).sorted().joined(
                            separator: ", ") + ".")
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

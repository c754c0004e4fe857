package import Accounts

extension PasswordSignIns.Refusal {
    /// The reason, for the operator.
    package var words: String {
        switch self {
        case .wrong: "It was not the right one."
        case .unknownName: "Nobody has this name."
        case .locked: "The account is locked: countersign admin account unlock."
        case .noPassword: "The account has no password: countersign admin account password set."
        case .resting: "So many were wrong that none is judged for a while. The account's phone works as ever."
        case .spent:
            "So many were wrong in 30 days that none is judged any more: a mailed link to a new password, or countersign admin account password set."
        case .oneTimeOver:
            "The password was for one sign-in and its time is over: countersign admin account password set."
        case .unreadableHash:
            "The stored hash costs more than is allowed, or is damaged: countersign admin account password set."
        case .over: "The sign-in has ended, or the account was changed this moment."
        }
    }

    /// The setting that the refusal depends on.
    package var setting: String? {
        switch self {
        case .resting: "passwordAttempts"
        case .spent: "attemptsInAll"
        case .oneTimeOver: "oneTimePasswordLifetime"
        default: nil
        }
    }
}

import OAuth
import _Primitives

/// The reason why a sign-in to a client of the app sign-in service failed, by the code in the answer to a web site
/// (`code`). The web site shows a page of its own for each code.
package enum SignInServiceFailure: String, Sendable, CaseIterable {
    /// The person declined, at the other provider or here.
    case declined = "001"
    /// The other provider failed, the person was authenticated less surely than was needed, or no account here is
    /// connected with the person.
    case ofProvider = "007"
    /// The person declined at `logingov`.
    case declinedAtLogingov = "009"
    /// The register of people has several of one kind of identifier for the person.
    case manyMHVs = "101"
    case manyEDIPIs = "102"
    case manyCORPs = "106"
    /// The person is locked, in that register or here, or the device of the authentication was removed meanwhile.
    case locked = "107"
    /// The person from `mhv` was authenticated less surely than was needed.
    case unverifiedMHV = "108"
    /// The provider and the register have different social security numbers for the person.
    case otherSSN = "113"
    /// The request is not valid.
    case invalid = "400"

    /// The sentence that an app's browser shows.
    var sentence: String {
        switch self {
        case .declined, .declinedAtLogingov: "The person did not sign in."
        case .ofProvider: "The provider could not sign the person in: begin again, or choose another way."
        case .unverifiedMHV: RequestedLevels.unmet.message ?? ""
        case .manyMHVs, .manyEDIPIs, .manyCORPs:
            "The person's records do not agree: whoever runs this service can mend them."
        case .locked: "The person's record is locked: whoever runs this service can say why."
        case .otherSSN: "The provider and the person's record do not agree about who it is."
        case .invalid: "The request is not valid."
        }
    }
}

extension SignInServiceWishes {
    /// Returns the failure that stands for an error in the answer to a client. Every error other than a refused or too
    /// weak authentication is ``SignInServiceFailure/invalid``.
    func failure(of error: OAuthError) -> SignInServiceFailure {
        switch error.code {
        case .accessDenied: self.type.hasSameBytes(as: "logingov") ? .declinedAtLogingov : .declined
        case .unmetAuthenticationRequirements: self.type.hasSameBytes(as: "mhv") ? .unverifiedMHV : .ofProvider
        default: .invalid
        }
    }
}

import Ceremony
import PersonalInformation
import UAF
import _Primitives

/// A session that this device has claimed.
struct ClaimedSession: Sendable {
    let server: String
    let id: String
    /// The activation of the identity that has claimed the session.
    let activation: String
    /// The key of the finger or face that the session was begun to replace; `nil` if the session has another purpose.
    var replaces: KeyID?
}

/// A claim of a session, as it was sent.
struct SentClaim: Sendable {
    let session: ClaimedSession
    let claim: SecretBytes

    /// Returns `true` if the other value is the claim of the same session by the same identity. A proof of one identity
    /// is not valid for another identity.
    func isSame(as other: Self) -> Bool {
        self.session.server.hasSameBytes(as: other.session.server)
            && self.session.id.hasSameBytes(as: other.session.id)
            && self.session.activation.hasSameBytes(as: other.session.activation) && self.claim == other.claim
    }
}

/// The content to be signed, as the phone has checked it.
struct CheckedSession: Sendable {
    let prepared: PreparedSession
    let document: SessionDocument
    /// The questions to the PIN service for this document.
    let askedPins = AskedPins()
}

/// The person's answers to a request, as they were sent.
struct SentAnswers: Sendable {
    let role: String
    let answers: [PersonalAttribute: AttributeAnswer]

    func isSame(as other: Self) -> Bool { self.role.hasSameBytes(as: other.role) && self.answers == other.answers }
}

/// Factors that were sent, with the content that they have signed.
struct SentFactors: Sendable {
    let checked: CheckedSession
    /// The PIN among the factors, kept if the session changes the PIN: the new PIN must differ from it.
    let pin: SecretBytes?
    /// The number of these signatures among the activation's signatures.
    let number: Int
}

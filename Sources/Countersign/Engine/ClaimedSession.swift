import Ceremony
import PersonalInformation
import UAF
import _Primitives

/// A session that this device has claimed.
struct ClaimedSession: Sendable {
    let server: String
    let id: String
    /// Which identity has claimed it.
    let activation: String
    /// The key of the finger or face that it was begun to replace; `nil` where it was not begun for that.
    var replaces: KeyID?
}

/// A claim of a session, as it has left.
struct SentClaim: Sendable {
    let session: ClaimedSession
    let claim: SecretBytes

    /// Whether it is the claim of the same session by the same identity. What one identity has proved is no other's.
    func isSame(as other: Self) -> Bool {
        self.session.server.hasSameBytes(as: other.session.server)
            && self.session.id.hasSameBytes(as: other.session.id)
            && self.session.activation.hasSameBytes(as: other.session.activation) && self.claim == other.claim
    }
}

/// What is to be signed, as the phone has checked it.
struct CheckedSession: Sendable {
    let prepared: PreparedSession
    let document: SessionDocument
    /// What the PIN service was asked with this document.
    let askedPins = AskedPins()
}

/// What a person said to what was asked, as it has left.
struct SentAnswers: Sendable {
    let role: String
    let answers: [PersonalAttribute: AttributeAnswer]

    func isSame(as other: Self) -> Bool { self.role.hasSameBytes(as: other.role) && self.answers == other.answers }
}

/// Factors that have left, and what they have signed.
struct SentFactors: Sendable {
    let checked: CheckedSession
    /// The PIN among them, where it is about to be changed and the new one has to be another.
    let pin: SecretBytes?
    /// Which signatures of the activation they are.
    let number: Int
}

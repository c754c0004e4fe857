import Ceremony
import _Primitives

/// Every message between a phone and its server about a personalised identity, as read by either side.
enum IdentityMessageTarget {
    private static let kinds: [any IdentityMessage.Type] = [
        // Messages from a phone, as a server reads them, and their sealed contents.
        OpenRequest.self, ProveRequest.self, ProveRequest.Proof.self, EnrollRequest.self, EnrollRequest.Enrolment.self,
        EvaluationRequest.self, StartRequest.self, PrepareRequest.self, FinishRequest.self, FinishRequest.Factors.self,
        InAppRequest.self, AccessRequest.self, CompleteRequest.self, Completion.self, SecurityReport.self,
        SealedMessage.self,
        // Messages from a server, as a phone reads them.
        OpenResponse.self, ProveResponse.self, ProvenActivation.self, ActivationReceipt.self, EvaluationResponse.self,
        RequestDocument.self, PrepareResponse.self, PreparedSession.self, FinishResponse.self, AcceptedSession.self,
        RefusedAttempt.self, CodeResponse.self, SessionOffer.self, SessionDeadlines.self, CompleteResponse.self,
        IdentityProblem.self, LockoutNotice.self, ValidatorBounds.self,
    ]

    /// Tries to read the bytes as each kind of message. Returns `true` if writing a message gives bytes with the same
    /// meaning.
    static func holds(_ bytes: [UInt8]) -> Bool {
        self.kinds.allSatisfy { self.survives(bytes, $0) }
    }

    private static func survives<Message: IdentityMessage>(_ bytes: [UInt8], _ kind: Message.Type) -> Bool {
        guard let message = try? Message(parsing: bytes) else { return true }
        let written = message.serialized
        // Omitted members may be written, and the written message is then longer than the input.
        guard written.count <= IdentityMessageError.maximumBytes else { return true }
        return (try? Message(parsing: written))?.serialized == written
    }
}

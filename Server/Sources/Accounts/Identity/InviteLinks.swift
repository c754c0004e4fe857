import Sealing
import _Primitives

/// The links of invitations. A link is computed whenever needed, from the invitation's identifier and a key that only
/// this server has. So no link is stored, and a link ends with its invitation.
struct InviteLinks: Sendable {
    let sealing: Sealing

    /// Returns the text that the link of an invitation carries. The holder of the link counts as the invited person.
    func secret(of id: String) -> String { "\(id).\(Base64URL.encode(self.code(of: id)))" }

    /// Returns the identifier of the invitation of a link; `nil` for a link that this server has not made.
    func invite(link: String) -> String? {
        let parts = link.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let code = Base64URL.decode(String(parts[1])) else { return nil }
        let id = String(parts[0])
        return constantTimeEqual(code, self.code(of: id)) ? id : nil
    }

    private func code(of id: String) -> [UInt8] { self.sealing.code(id, purpose: .inviteLink) }
}

extension SealingPurpose {
    /// The secret of an invitation's link, computed from the invitation's identifier.
    fileprivate static let inviteLink = SealingPurpose("invitation link")
}

import Store
import _Primitives

/// The links of invitations. What stands in one is made anew whenever it is needed, of the invitation's identifier and a
/// key that only this server has: no link is stored, and it goes with its invitation.
struct InviteLinks: Sendable {
    let sealing: Sealing

    /// What the link of an invitation carries: whoever has it is whom the invitation was for.
    func secret(of id: String) -> String { "\(id).\(Base64URL.encode(self.code(of: id)))" }

    /// The identifier of the invitation that a link was made for; `nil` for what this server has not made.
    func invite(link: String) -> String? {
        let parts = link.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let code = Base64URL.decode(String(parts[1])) else { return nil }
        let id = String(parts[0])
        return constantTimeEqual(code, self.code(of: id)) ? id : nil
    }

    private func code(of id: String) -> [UInt8] { self.sealing.code(id, purpose: .inviteLink) }
}

extension SealingPurpose {
    /// The secret of an invitation's link, of the invitation's identifier.
    fileprivate static let inviteLink = SealingPurpose("invitation link")
}

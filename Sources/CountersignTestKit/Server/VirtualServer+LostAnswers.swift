import Countersign
import Foundation
import UAF
import _Primitives

extension VirtualServer {
    /// Loses the next answers to a path, for instance `/uaf/1.1/authentication/`: the server judges the requests, and the
    /// phone's transport throws `timedOut`.
    public func loseAnswers(at path: String, _ count: Int = 1) { self.lostAnswers[path] = count }

    /// Throws `timedOut` if the answer to a request gets lost.
    func loseAnswer(to request: TransportRequest) throws {
        let path = request.url.path()
        guard let count = self.lostAnswers[path], count > 0 else { return }
        self.lostAnswers[path] = count - 1
        throw TransportError(.timedOut, "the answer got lost")
    }

    /// Judges an answer of a phone. The same bytes get the same judgement again, and tokens, the address of a continuation
    /// and the number of a registration only with the proof of the person's device.
    func judgeOnce(_ request: TransportRequest, _ judge: () -> ServerResponse) -> ServerResponse {
        if let (username, response) = self.judgedAnswers[request.body] {
            return self.prover(of: request) == username ? response : ServerResponse(statusCode: response.statusCode)
        }
        let (authentications, registrations) = (self.accepted.count, self.registrationContexts.count)
        let response = judge()
        if self.accepted.count > authentications, let username = self.accepted.last?.username {
            self.judgedAnswers[request.body] = (username, response)
        } else if self.registrationContexts.count > registrations {
            // The device of a registration that waits for its number proves nothing.
            self.judgedAnswers[request.body] = ("", response)
        }
        return response
    }
}

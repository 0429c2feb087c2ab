/*
 * Opens the raw sockets of an agent without CAP_NET_RAW. This file has that capability, the agent has none.
 * Descriptor 3 is a socket pair of SOCK_SEQPACKET. A request is four ints: its number, domain, type, protocol. The answer
 * is two: the number of the request, and 0 with the descriptor (SCM_RIGHTS) or a negated error number. It ends when the
 * agent does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHANNEL = 3, ICMP = 1, ICMPV6 = 58 };

/* Echo requests and the capture of packets. The capture is bound by the agent, after it has a filter. */
static int is_allowed(const int request[3]) {
  int kind = request[1] & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  return (request[0] == AF_INET && kind == SOCK_RAW && request[2] == ICMP) ||
         (request[0] == AF_INET6 && kind == SOCK_RAW && request[2] == ICMPV6) ||
         (request[0] == AF_PACKET && kind == SOCK_DGRAM && request[2] == 0);
}

static int answer(int number, int result, int descriptor) {
  int both[2] = {number, result};
  struct iovec part = {both, sizeof both};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control = {{0}};
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do sent = sendmsg(CHANNEL, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == sizeof both;
}

int main(void) {
  /* A terminal and a service manager signal whole groups; the agent may need a socket until it has drained. */
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  for (;;) {
    int numbered[4];
    const int *request = numbered + 1;
    ssize_t got = recv(CHANNEL, numbered, sizeof numbered, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof numbered) return got == 0 ? 0 : 1;
    int descriptor = -1;
    int result = -EINVAL;
    if (is_allowed(request)) {
      descriptor = socket(request[0], request[1], request[2]);
      result = descriptor < 0 ? -errno : 0;
    }
    int is_sent = answer(numbered[0], result, descriptor);
    if (descriptor >= 0) close(descriptor);
    if (!is_sent) return 1;
  }
}

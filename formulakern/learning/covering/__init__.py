"""Rule lists: sequential covering, optimal decision lists, rules of trees."""
